// Q4_1: 32 weights, 4 bits each, with a minimum.  w[i] = d * c[i] + m
//
//   byte  0  2  4                20
//        | d | m | qs[16]        |      d, m: f16 bits; qs[j] = c[j] | c[j + 16] << 4
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ4_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_1) == 20);

void decode_q4_1(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
