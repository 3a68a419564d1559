// Q6_K: 256 weights, 6 bits each, 16 sub-blocks of 16, symmetric.  w[i] = (d * scales[i/16]) * (c[i] - 32)
//
//   byte  0          128       192          208  210
//        | ql[128]   | qh[64]  | scales[16] | d |     scales: int8; d: f16 bits
//
//   Half h (128 weights) owns ql[64h .. 64h+63] and qh[32h .. 32h+31]. Weight 128h + 32p + l, p = 0..3, l = 0..31:
//   low 4 bits in nibble p/2 of ql[64h + 32(p%2) + l], high 2 in bits 2p, 2p+1 of qh[32h + l].
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ6_K {
  uint8_t ql[128];
  uint8_t qh[64];
  int8_t scales[16];
  uint16_t d;
};
static_assert(sizeof(BlockQ6_K) == 210);

void decode_q6_k(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
