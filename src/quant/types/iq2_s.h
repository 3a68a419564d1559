// IQ2_S: 256 weights, 2.6 bits each, 16 sub-blocks of 16, each 2 groups of 8; a group is a point of kIq2SGrid and 8 signs.
//   w[i] = (d * (0.5 + s[i/16]) / 4) * size[i] * sign[i]
//
//   byte  0  2        34          66      74          82
//        | d | qs[32] | signs[32] | qh[8] | scales[8] |      d: f16 bits
//
//   Point of group g: low 8 bits in qs[g], high 2 in bits 2(g%4), 2(g%4)+1 of qh[g/4]. Bit i of signs[g]: its weight i is negative.
//   s[j]: nibble j%2 of scales[j/2].
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockIq2S {
  uint16_t d;
  uint8_t qs[32];
  uint8_t signs[32];
  uint8_t qh[8];
  uint8_t scales[8];
};
static_assert(sizeof(BlockIq2S) == 82);

void decode_iq2_s(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
