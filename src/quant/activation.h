// Activations as linears take them where that is not float (docs/NUMERICS.md). Of class a8: int8 per row, one scale per group of 32 or
// 256 k, sums of the rounded values.
//
//   amax = max |x| over the group, taken on the bits;  dx = amax / 127;  q = rint(x * (127 / amax)), ties to even, within +-127
//   a NaN or Inf in the group: dx = NaN, q = 0 (so it reaches the output);  amax < 2^-118 (0, or dx would be subnormal): dx = 0, q = 0
//
// A row is one run of bytes, its parts one after another (ActivationForm gives their places):
//
//   group 32:   | q int8 [K] | dx f32 [K/32]  | sum f32 [K/32]                                   |
//   group 256:  | q int8 [K] | dx f32 [K/256] | sum i16 [K/32] | bias32 i16 [K/16][2]            |
//
//   split:      | high bf16 [K padded to 32] | low bf16 [K padded to 32] |   class b16x2: x = high + low, both to nearest even, 0 beyond K
//
//   sum[j] = sum of q over k 32j .. 32j+31
//   bias32[h] = -32 * (sum of q over k = 0, 1 mod 4,  sum over k = 2, 3 mod 4) of k 16h .. 16h+15: what codes biased by 32 owe
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

inline constexpr uint32_t kSplitGroup = 1;

struct ActivationForm {
  uint32_t k = 0;      // a multiple of group
  uint32_t group = 0;  // 32, 256, or kSplitGroup
  uint32_t dx_at = 0, sum_at = 0, bias_at = 0;
  uint32_t low_at = 0;
  uint32_t row_bytes = 0;  // a multiple of 64, never a power of two (rows would share cache sets)
};
ActivationForm activation_form(uint32_t k, uint32_t group);

// The reference. The float control word must be FloatMode::compute's (base/float_control.h) for subnormal inputs to round as kernels do.
void quantize_activations(const float* x, const ActivationForm& form, uint8_t* row);

}  // namespace llmrt
