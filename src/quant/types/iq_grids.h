// Codebooks of the IQ types, part of the GGUF format: a code picks a point, its coordinates are the sizes of some weights.
//
//   IQ1, IQ2   8 coordinates x of 0..2   point = sum_i x[i] << 2i      weights ~ x - 1;  kIq2Sizes[x]
//   IQ3        4 coordinates x of 0..7   point = sum_i x[i] << 4i      weights ~ kIq3XxsSizes[x];  2 x + 1
//
// Points ascend.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace llmrt {

extern const std::array<uint16_t, 2048> kIq1Grid;
extern const std::array<uint16_t, 256> kIq2XxsGrid;
extern const std::array<uint16_t, 512> kIq2XsGrid;
extern const std::array<uint16_t, 1024> kIq2SGrid;
extern const std::array<uint16_t, 256> kIq3XxsGrid;
extern const std::array<uint16_t, 512> kIq3SGrid;

inline constexpr uint8_t kIq2Sizes[4] = {8, 25, 43, 0};  // no point has a 3
inline constexpr uint8_t kIq3XxsSizes[8] = {4, 12, 20, 28, 36, 44, 52, 62};
inline constexpr float kIq1Shift = 0.125f;  // added to or taken from the coordinates of a group

// Signs of 8 weights, bit i for weight i, of which an even number is negative: 7 bits tell them.
inline uint32_t even_signs(uint32_t low7) {
  return low7 | (static_cast<uint32_t>(std::popcount(low7)) & 1u) << 7;
}

inline float with_sign(float size, uint32_t signs, size_t i) {
  return (signs >> i) & 1u ? -size : size;
}

// The 8 weights of a point.
inline void put_iq1_group(uint16_t point, float scale, float shift, float* out) {
  for (size_t i = 0; i < 8; ++i)
    out[i] = scale * (static_cast<float>(((point >> (2 * i)) & 3) - 1) + shift);
}

inline void put_iq2_group(uint16_t point, uint32_t signs, float scale, float* out) {
  for (size_t i = 0; i < 8; ++i) {
    const uint8_t size = kIq2Sizes[(point >> (2 * i)) & 3];
    out[i] = with_sign(scale * static_cast<float>(size), signs, i);
  }
}

}  // namespace llmrt
