// TQ1_0: 256 weights of -1, 0 and 1, five to a byte.  w[i] = d * (t[i] - 1)
//
//   byte  0        48      52  54
//        | qs[48] | qh[4] | d |      d: f16 bits
//
//   A byte is the fraction 0.t0 t1 t2 t3 t4 in base 3, as ceil(256 * fraction): times 3^k mod 256 drops the first k digits, and the
//   next one is the carry of another multiplication by 3. Digit k of byte l:
//     qs[0..31]  weight 32k + l;   qs[32..47]  weight 160 + 16k + l - 32;   qh[l], 4 digits  weight 240 + 4k + l
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockTQ1_0 {
  uint8_t qs[48];
  uint8_t qh[4];
  uint16_t d;
};
static_assert(sizeof(BlockTQ1_0) == 54);

void decode_tq1_0(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
