// IQ1_S: 256 weights, 1.6 bits each, 8 sub-blocks of 32, each 4 groups of 8; a group is a point of kIq1Grid.
//   w[i] = (d * (2 s[i/32] + 1)) * (x[i] - 1 +- kIq1Shift)
//
//   byte  0  2        34          50
//        | d | qs[32] | qh[8]     |      d: f16 bits
//
//   Point of group g: low 8 bits in qs[g], high 3 in bits 3(g%4) .. 3(g%4)+2 of qh[g/4].
//   qh[j], little-endian u16: bits 12..14 are s[j]; bit 15: the shift of sub-block j is negative.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockIq1S {
  uint16_t d;
  uint8_t qs[32];
  uint16_t qh[8];
};
static_assert(sizeof(BlockIq1S) == 50);

void decode_iq1_s(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
