// NVFP4 (E2M1 elements with an E4M3 scale without sign for each 16): 64 weights, 4 bits each, 4 sub-blocks of 16.
//   w[i] = UE4M3(d[i/16]) * E2M1(c[i]) = nvfp4_scale(d[i/16]) * kMxfp4Values[c[i]]
//
//   byte  0      4                  36
//        | d[4] | qs[32]           |      qs[8j + l] = c[16j + l] | c[16j + 8 + l] << 4, l < 8
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace llmrt {

struct BlockNvfp4 {
  uint8_t d[4];
  uint8_t qs[32];
};
static_assert(sizeof(BlockNvfp4) == 36);

// Half of the UE4M3 number e (bias 7), for the doubled values of kMxfp4Values. Bit 7 is ignored; 0x7f, a NaN in E4M3, is 0 in GGUF.
inline float nvfp4_scale(uint8_t e) {
  if (e == 0x7f) return 0.0f;
  const uint32_t exponent = (e >> 3) & 15u;
  const uint32_t mantissa = e & 7u;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
  return std::bit_cast<float>((exponent + 119u) << 23 | mantissa << 20);
}

void decode_nvfp4(const uint8_t* blocks, float* out, size_t n);

}  // namespace llmrt
