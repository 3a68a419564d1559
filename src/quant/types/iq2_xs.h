// IQ2_XS: 256 weights, 2.3 bits each, 16 sub-blocks of 16, each 2 groups of 8; a group is a point of kIq2XsGrid and 8 signs.
//   w[i] = (d * (0.5 + s[i/16]) / 4) * size[i] * sign[i]
//
//   byte  0  2          66          74
//        | d | qs[32]   | scales[8] |      d: f16 bits
//
//   qs[g]: little-endian u16, bits 0..8: the point of group g, bits 9..15: its even_signs. s[j]: nibble j%2 of scales[j/2].
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockIq2Xs {
  uint16_t d;
  uint16_t qs[32];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIq2Xs) == 74);

void decode_iq2_xs(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
