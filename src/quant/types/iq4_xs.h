// IQ4_XS: 256 weights, 4 bits each, 8 sub-blocks of 32, the table of IQ4_NL.
//   w[i] = (d * (s[i/32] - 32)) * kIq4Values[c[i]]
//
//   byte  0  2          4            8                136
//        | d | scales_h | scales_l[4] | qs[128]       |   d: f16 bits
//
//   s[j] is 6 bits: low 4 in nibble j%2 of scales_l[j/2], high 2 in bits 2j, 2j+1 of scales_h (little-endian u16).
//   Sub-block j owns qs[16j .. 16j+15]: low nibbles are its weights 0..15, high nibbles 16..31.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockIq4Xs {
  uint16_t d;
  uint16_t scales_h;
  uint8_t scales_l[4];
  uint8_t qs[128];
};
static_assert(sizeof(BlockIq4Xs) == 136);

inline int iq4_xs_scale(const BlockIq4Xs& b, size_t j) {  // s[j] - 32
  const int low = (b.scales_l[j / 2] >> (4 * (j % 2))) & 15;
  const int high = (b.scales_h >> (2 * j)) & 3;
  return (low | (high << 4)) - 32;
}

void decode_iq4_xs(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
