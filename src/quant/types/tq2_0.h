// TQ2_0: 256 weights, 2 bits each, made for -1, 0 and 1.  w[i] = d * (c[i] - 1)
//
//   byte  0        64  66
//        | qs[64] | d |      d: f16 bits
//
//   Half h (128 weights) owns qs[32h .. 32h+31]: bits 2p, 2p+1 of qs[32h + l] are the code of weight 128h + 32p + l.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockTQ2_0 {
  uint8_t qs[64];
  uint16_t d;
};
static_assert(sizeof(BlockTQ2_0) == 66);

void decode_tq2_0(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
