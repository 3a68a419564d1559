// Q4_K: 256 weights, 4 bits each, 8 sub-blocks of 32 with minimum.  w[i] = (d * s[i/32]) * c[i] - dmin * m[i/32]
//
//   byte  0  2      4            16                144
//        | d | dmin | scales[12] | qs[128]         |   d, dmin: f16 bits; scales: k_scales.h
//
//   Pair p of sub-blocks owns qs[32p .. 32p+31]: low nibbles are sub-block 2p, high nibbles 2p + 1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ4_K {
  uint16_t d;
  uint16_t dmin;
  uint8_t scales[12];
  uint8_t qs[128];
};
static_assert(sizeof(BlockQ4_K) == 144);

void decode_q4_k(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
