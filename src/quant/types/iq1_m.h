// IQ1_M: 256 weights, 1.75 bits each, 16 sub-blocks of 16, each 2 groups of 8; a group is a point of kIq1Grid.
//   w[i] = (d * (2 s[i/16] + 1)) * (x[i] - 1 +- kIq1Shift)
//
//   byte  0        32       48          56
//        | qs[32] | qh[16] | scales[4] |
//
//   Group g: its nibble is g%2 of qh[g/2]. Point: low 8 bits in qs[g], high 3 in the nibble's low bits; its bit 3: the shift is negative.
//   scales[k], little-endian u16: bits 3l .. 3l+2 are s[4k + l]; bits 12..15 are bits 4k .. 4k+3 of d, an f16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockIq1M {
  uint8_t qs[32];
  uint8_t qh[16];
  uint16_t scales[4];
};
static_assert(sizeof(BlockIq1M) == 56);

void decode_iq1_m(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
