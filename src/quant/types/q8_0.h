// Q8_0: 32 weights, 8 bits each, symmetric.  w[i] = d * qs[i]
//
//   byte  0  2                  34
//        | d | qs[32]           |      d: f16 bits; qs: int8
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ8_0 {
  uint16_t d;
  int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

void decode_q8_0(const uint8_t* blocks, float* out, size_t n);
void encode_q8_0(const float* values, uint8_t* blocks, size_t n);

}  // namespace llmrt
