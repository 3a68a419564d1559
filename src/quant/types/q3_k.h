// Q3_K: 256 weights, 3 bits each, 16 sub-blocks of 16, symmetric.  w[i] = (d * (s[i/16] - 32)) * (c[i] - 4)
//
//   byte  0          32         96           108  110
//        | hmask[32] | qs[64]   | scales[12] | d |     d: f16 bits
//
//   Half h (128 weights) owns qs[32h .. 32h+31]: weight 128h + 32p + l has the low 2 bits of its code in bits 2p, 2p+1 of
//   qs[32h + l], and bit 2 of its code in bit 4h + p of hmask[l].
//   s[j] is 6 bits: low 4 in nibble j/8 of scales[j%8], high 2 in bits 2(j/4), 2(j/4)+1 of scales[8 + j%4].
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ3_K {
  uint8_t hmask[32];
  uint8_t qs[64];
  uint8_t scales[12];
  uint16_t d;
};
static_assert(sizeof(BlockQ3_K) == 110);

inline int q3_k_scale(const uint8_t scales[12], size_t j) {  // s[j] - 32
  const int low = (scales[j % 8] >> (4 * (j / 8))) & 15;
  const int high = (scales[8 + j % 4] >> (2 * (j / 4))) & 3;
  return (low | (high << 4)) - 32;
}

void decode_q3_k(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
