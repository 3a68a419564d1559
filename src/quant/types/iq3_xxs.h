// IQ3_XXS: 256 weights, 3 bits each, 8 sub-blocks of 32, each 4 groups of 8; a group is two points of kIq3XxsGrid and 8 signs.
//   w[i] = (d * (0.5 + s[i/32]) / 2) * size[i] * sign[i]
//
//   byte  0  2        66           98
//        | d | qs[64] | sub[8]     |      d: f16 bits; qs[i/4]: the point of weight i
//
//   sub[j]: little-endian u32, bits 7g .. 7g+6: even_signs of group g, bits 28..31: s[j]
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockIq3Xxs {
  uint16_t d;
  uint8_t qs[64];
  uint8_t sub[32];  // u32 [8], not aligned
};
static_assert(sizeof(BlockIq3Xxs) == 98);

void decode_iq3_xxs(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
