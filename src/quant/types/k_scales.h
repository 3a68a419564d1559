// Eight 6-bit scales s and eight 6-bit minimums m in 12 bytes, shared by Q4_K and Q5_K:
//
//   byte j     (j = 0..3)   s[j]   in bits 0..5, bits 4..5 of s[j+4] in bits 6..7
//   byte j + 4              m[j]   in bits 0..5, bits 4..5 of m[j+4] in bits 6..7
//   byte j + 8              bits 0..3 of s[j+4] in the low nibble, of m[j+4] in the high nibble
#pragma once

#include <cstdint>

namespace llmrt {

struct KScales {
  uint8_t scale[8];
  uint8_t min[8];
};

inline KScales unpack_k_scales(const uint8_t packed[12]) {
  KScales out;
  for (int j = 0; j < 4; ++j) {
    out.scale[j] = packed[j] & 63;
    out.min[j] = packed[j + 4] & 63;
    out.scale[j + 4] = static_cast<uint8_t>((packed[j + 8] & 15) | ((packed[j] >> 6) << 4));
    out.min[j + 4] = static_cast<uint8_t>((packed[j + 8] >> 4) | ((packed[j + 4] >> 6) << 4));
  }
  return out;
}

}  // namespace llmrt
