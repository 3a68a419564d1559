// Q2_K: 256 weights, 2 bits each, 16 sub-blocks of 16.  w[i] = (d * s[i/16]) * c[i] - dmin * m[i/16]
//
//   byte  0            16          80  82     84
//        | scales[16]  | qs[64]    | d | dmin |   scales[j] = s[j] | m[j] << 4; d, dmin: f16 bits
//
//   Half h (128 weights) owns qs[32h .. 32h+31]: weight 128h + 32p + l has its code in bits 2p, 2p+1 of qs[32h + l].
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ2_K {
  uint8_t scales[16];
  uint8_t qs[64];
  uint16_t d;
  uint16_t dmin;
};
static_assert(sizeof(BlockQ2_K) == 84);

void decode_q2_k(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
