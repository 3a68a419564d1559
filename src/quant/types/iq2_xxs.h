// IQ2_XXS: 256 weights, 2 bits each, 8 sub-blocks of 32, each 4 groups of 8; a group is a point of kIq2XxsGrid and 8 signs.
//   w[i] = (d * (0.5 + s[i/32]) / 4) * size[i] * sign[i]
//
//   byte  0  2                   66
//        | d | sub[8]            |      d: f16 bits
//
//   sub[j]: 4 bytes, the points of the groups; then a little-endian u32, bits 7g .. 7g+6: even_signs of group g, bits 28..31: s[j]
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockIq2Xxs {
  uint16_t d;
  uint8_t sub[8][8];
};
static_assert(sizeof(BlockIq2Xxs) == 66);

void decode_iq2_xxs(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
