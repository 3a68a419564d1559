// Q4_0: 32 weights, 4 bits each, symmetric.  w[i] = d * (c[i] - 8)
//
//   byte  0  2                  18
//        | d | qs[16]           |      d: f16 bits; qs[j] = c[j] | c[j + 16] << 4
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ4_0 {
  uint16_t d;
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ4_0) == 18);

void decode_q4_0(const uint8_t* blocks, float* out, size_t n);
void encode_q4_0(const float* values, uint8_t* blocks, size_t n);

}  // namespace llmrt
