#include "quant/activation.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"

namespace llmrt {

ActivationForm activation_form(uint32_t k, uint32_t group) {
  ActivationForm f;
  f.k = k;
  f.group = group;
  if (group == kSplitGroup) {
    f.low_at = ((k + 31) / 32 * 32 * 2 + 63) / 64 * 64;
    f.row_bytes = 2 * f.low_at;
  } else {
    f.dx_at = (k + 63) / 64 * 64;
    f.sum_at = f.dx_at + (k / group * 4 + 63) / 64 * 64;
    f.bias_at = f.sum_at + (group == 32 ? k / 32 * 4 : (k / 32 * 2 + 63) / 64 * 64);
    const uint32_t end = f.bias_at + (group == 32 ? 0 : k / 16 * 4);
    f.row_bytes = (end + 63) / 64 * 64;
  }
  if ((f.row_bytes & 2047u) == 0) f.row_bytes += 64;
  return f;
}

static void split_activations(const float* x, const ActivationForm& f, uint8_t* row) {
  std::memset(row, 0, f.row_bytes);
  auto* high = reinterpret_cast<uint16_t*>(row);
  auto* low = reinterpret_cast<uint16_t*>(row + f.low_at);
  for (uint32_t i = 0; i < f.k; ++i) {
    high[i] = f32_to_bf16(x[i]);
    low[i] = f32_to_bf16(x[i] - bf16_to_f32(high[i]));
  }
}

void quantize_activations(const float* x, const ActivationForm& f, uint8_t* row) {
  if (f.group == kSplitGroup) {
    split_activations(x, f, row);
    return;
  }
  auto* q = reinterpret_cast<int8_t*>(row);
  auto* dx = reinterpret_cast<float*>(row + f.dx_at);
  for (uint32_t begin = 0; begin < f.k; begin += f.group) {
    uint32_t amax_bits = 0;
    for (uint32_t i = 0; i < f.group; ++i) {
      const uint32_t magnitude = std::bit_cast<uint32_t>(x[begin + i]) & 0x7fffffffu;
      if (magnitude > amax_bits) amax_bits = magnitude;
    }
    const float amax = std::bit_cast<float>(amax_bits);
    float inverse = 0;
    if (amax_bits >= 0x7f800000u) {
      dx[begin / f.group] = std::numeric_limits<float>::quiet_NaN();
    } else if (amax < 0x1p-118f) {
      dx[begin / f.group] = 0;
    } else {
      dx[begin / f.group] = amax / 127.0f;
      inverse = 127.0f / amax;
    }
    for (uint32_t i = 0; i < f.group; ++i) {
      float v = inverse == 0 ? 0.0f : std::nearbyint(x[begin + i] * inverse);
      v = v > 127.0f ? 127.0f : (v < -127.0f ? -127.0f : v);
      q[begin + i] = static_cast<int8_t>(v);
    }
  }
  for (uint32_t j = 0; j < f.k / 32; ++j) {
    int sum = 0;
    for (uint32_t i = 0; i < 32; ++i) sum += q[32 * j + i];
    if (f.group == 32)
      reinterpret_cast<float*>(row + f.sum_at)[j] = static_cast<float>(sum);
    else
      reinterpret_cast<int16_t*>(row + f.sum_at)[j] = static_cast<int16_t>(sum);
  }
  if (f.group == 32) return;
  auto* bias = reinterpret_cast<int16_t*>(row + f.bias_at);
  for (uint32_t h = 0; h < f.k / 16; ++h) {
    int low = 0, high = 0;
    for (uint32_t i = 0; i < 16; i += 4) {
      low += q[16 * h + i] + q[16 * h + i + 1];
      high += q[16 * h + i + 2] + q[16 * h + i + 3];
    }
    bias[2 * h] = static_cast<int16_t>(-32 * low);
    bias[2 * h + 1] = static_cast<int16_t>(-32 * high);
  }
}

}  // namespace llmrt
