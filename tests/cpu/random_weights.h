// Random rows of any weight type, as a file would hold them: every code pattern, finite scales. And random activations.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "quant/dtype.h"
#include "tests/support/block_scales.h"

namespace llmrt::test {

inline std::vector<uint8_t> random_weights(DType type, uint32_t n, uint32_t k, uint32_t seed) {
  const QuantFormat& f = format_of(type);
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> unit(-1.0f, 1.0f);
  std::vector<uint8_t> out(row_bytes(f, k) * n);
  if (type == DType::f32 || type == DType::f16 || type == DType::bf16) {
    for (size_t i = 0; i < size_t{n} * k; ++i) {
      const float v = unit(rng);
      const uint16_t h = type == DType::f16 ? f32_to_f16(v) : f32_to_bf16(v);
      if (type == DType::f32)
        std::memcpy(&out[i * 4], &v, 4);
      else
        std::memcpy(&out[i * 2], &h, 2);
    }
    return out;
  }
  for (auto& b : out) b = static_cast<uint8_t>(rng());
  for (size_t at = 0; at < out.size(); at += f.block_bytes) {
    if (type == DType::mxfp4) out[at] = static_cast<uint8_t>(110 + rng() % 25);
    set_block_scales(type, &out[at], [&] { return unit(rng) * 0.01f; });
  }
  return out;
}

inline std::vector<float> random_floats(size_t n, uint32_t seed, float scale = 1.0f) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> out(n);
  for (auto& v : out) v = normal(rng);
  return out;
}

inline std::vector<DType> a8_types() {
  std::vector<DType> out;
  for (const QuantFormat& f : all_formats())
    if (f.numerics == NumericsClass::a8) out.push_back(f.type);
  return out;
}

}  // namespace llmrt::test
