// IQ3_S: 256 weights, 3.4 bits each, 8 sub-blocks of 32; 4 weights are a point of kIq3SGrid and 4 signs.
//   w[i] = (d * (1 + 2 s[i/32])) * (2 x[i] + 1) * sign[i]
//
//   byte  0  2        66      74          106         110
//        | d | qs[64] | qh[8] | signs[32] | scales[4] |      d: f16 bits
//
//   Point p of 64: low 8 bits in qs[p], bit 8 in bit p%8 of qh[p/8]. Bit i%8 of signs[i/8]: weight i is negative.
//   s[j]: nibble j%2 of scales[j/2].
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockIq3S {
  uint16_t d;
  uint8_t qs[64];
  uint8_t qh[8];
  uint8_t signs[32];
  uint8_t scales[4];
};
static_assert(sizeof(BlockIq3S) == 110);

void decode_iq3_s(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
