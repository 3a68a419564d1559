// Q5_0: 32 weights, 5 bits each, symmetric.  w[i] = d * (c[i] - 16)
//
//   byte  0  2       6                22
//        | d | qh[4] | qs[16]         |   d: f16 bits; qs[j]: low 4 bits of c[j] and c[j + 16];
//                                         bit i of qh (little-endian u32): bit 4 of c[i]
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ5_0 {
  uint16_t d;
  uint8_t qh[4];
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_0) == 22);

void decode_q5_0(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
