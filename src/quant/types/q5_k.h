// Q5_K: 256 weights, 5 bits each, 8 sub-blocks of 32 with minimum.  w[i] = (d * s[i/32]) * c[i] - dmin * m[i/32]
//
//   byte  0  2      4            16       48                176
//        | d | dmin | scales[12] | qh[32] | qs[128]         |   d, dmin: f16 bits; scales: k_scales.h
//
//   qs as in Q4_K (low 4 bits of the codes); bit j of qh[l] is bit 4 of the code of weight 32j + l.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ5_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qh[32];
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ5_K) == 176);

void decode_q5_k(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
