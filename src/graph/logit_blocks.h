// Maxima of blocks of a row of logits: who chooses a token looks at them first and then reads the few logits that matter, instead of
// a whole vocabulary. 262,144 logits are 1 MiB, their maxima 64 KiB.
//
//   maxima[b] = max of logits [16 b, 16 b + 16), or +inf if one of them is NaN or +inf
//
// so they also tell whether a row may be drawn from. 16 is kPanelRows: whoever computes a panel of the last matrix knows its maximum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace llmrt {

inline constexpr uint32_t kLogitBlock = 16;

inline size_t n_logit_blocks(size_t n_vocab) { return (n_vocab + kLogitBlock - 1) / kLogitBlock; }

// As maxima[b], of any n > 0 logits. Vectors are a portable extension of g++ and clang++: plain loops over floats do not vectorise
// here, since comparisons may trap.
inline float max_or_infinity(const float* x, size_t n) {
  using Floats = float __attribute__((vector_size(16)));
  using Masks = int32_t __attribute__((vector_size(16)));
  constexpr size_t kLanes = 4, kChains = 4;  // independent maxima hide the latency of one
  const float infinity = __builtin_inff();
  const Floats inf = {infinity, infinity, infinity, infinity};
  Floats max[kChains] = {-inf, -inf, -inf, -inf};
  Masks good[kChains] = {~Masks{}, ~Masks{}, ~Masks{}, ~Masks{}};
  size_t i = 0;
  for (; i + kLanes * kChains <= n; i += kLanes * kChains) {
    for (size_t c = 0; c < kChains; ++c) {
      Floats v;
      std::memcpy(&v, x + i + c * kLanes, sizeof v);
      max[c] = v > max[c] ? v : max[c];
      good[c] &= v < inf;
    }
  }
  for (size_t c = 1; c < kChains; ++c) {
    max[0] = max[c] > max[0] ? max[c] : max[0];
    good[0] &= good[c];
  }
  float highest = -infinity;
  bool finite = true;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    highest = max[0][lane] > highest ? max[0][lane] : highest;
    finite = finite && good[0][lane] != 0;
  }
  for (; i < n; ++i) {
    highest = x[i] > highest ? x[i] : highest;
    finite = finite && x[i] < infinity;
  }
  return finite ? highest : infinity;
}

}  // namespace llmrt
