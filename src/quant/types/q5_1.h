// Q5_1: 32 weights, 5 bits each, with a minimum.  w[i] = d * c[i] + m
//
//   byte  0  2  4       8                24
//        | d | m | qh[4] | qs[16]        |   d, m: f16 bits; qs[j]: low 4 bits of c[j] and c[j + 16];
//                                            bit i of qh (little-endian u32): bit 4 of c[i]
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockQ5_1 {
  uint16_t d;
  uint16_t m;
  uint8_t qh[4];
  uint8_t qs[16];
};
static_assert(sizeof(BlockQ5_1) == 24);

void decode_q5_1(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
