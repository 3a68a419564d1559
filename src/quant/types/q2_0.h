// Q2_0: 64 weights, 2 bits each.  w[i] = d * (c[i] - 1)
//
//   byte  0  2                  18
//        | d | qs[16]           |      d: f16 bits; c[i] in bits 2(i%4), 2(i%4)+1 of qs[i/4]
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ2_0 {
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ2_0) == 18);

void decode_q2_0(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
