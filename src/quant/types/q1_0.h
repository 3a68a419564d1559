// Q1_0: 128 weights, 1 bit each.  w[i] = d if bit i%8 of qs[i/8], else -d
//
//   byte  0  2                  18
//        | d | qs[16]           |      d: f16 bits
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ1_0 {
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ1_0) == 18);

void decode_q1_0(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
