// MXFP4 (OCP Microscaling, E2M1 elements with an E8M0 scale): 32 weights, 4 bits each.
//   w[i] = 2^(e - 127) * E2M1(c[i]) = 2^(e - 128) * kMxfp4Values[c[i]]
//
//   byte  0  1                  17
//        | e | qs[16]           |      qs[j] = c[j] | c[j + 16] << 4
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace llmrt {

// Twice the E2M1 values 0, 0.5, 1, 1.5, 2, 3, 4, 6, so that they are integers. Bit 3 is the sign.
inline constexpr int8_t kMxfp4Values[16] = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};

struct BlockMxfp4 {
  uint8_t e;
  uint8_t qs[16];
};
static_assert(sizeof(BlockMxfp4) == 17);

// 2^(e - 128); e = 0 and 1 give float32 subnormals.
inline float mxfp4_scale(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23;
  return std::bit_cast<float>(bits);
}

void decode_mxfp4(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
