#include "quant/types/q4_0.h"

#include <cmath>

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q4_0(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 32; ++i, out += 32) {
    const auto b = load_block<BlockQ4_0>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 16; ++j) {
      out[j] = d * static_cast<float>((b.qs[j] & 15) - 8);
      out[j + 16] = d * static_cast<float>((b.qs[j] >> 4) - 8);
    }
  }
}

// The value of largest magnitude gets code 0 (= -8): d = extreme / -8. Others round half up: c = floor(x / d + 8.5), at most 15.
void encode_q4_0(const float* values, uint8_t* blocks, size_t n) {
  for (size_t i = 0; i < n / 32; ++i, values += 32) {
    float amax = 0;
    float extreme = 0;
    for (int j = 0; j < 32; ++j) {
      if (std::fabs(values[j]) > amax) {
        amax = std::fabs(values[j]);
        extreme = values[j];
      }
    }
    const float d = extreme / -8.0f;
    const float inverse = d != 0 ? 1.0f / d : 0.0f;
    const auto code = [&](float x) {
      const float c = x * inverse + 8.5f;
      return static_cast<uint8_t>(c >= 15.0f ? 15.0f : c > 0.0f ? c : 0.0f);  // NaN: 0
    };
    BlockQ4_0 b;
    b.d = f32_to_f16(d);
    for (int j = 0; j < 16; ++j)
      b.qs[j] = static_cast<uint8_t>(code(values[j]) | (code(values[j + 16]) << 4));
    store_block(b, blocks, i);
  }
}

}  // namespace llmrt
