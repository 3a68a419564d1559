#include "quant/types/q8_0.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q8_0(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 32; ++i, out += 32) {
    const auto b = load_block<BlockQ8_0>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 32; ++j) out[j] = d * static_cast<float>(b.qs[j]);
  }
}

// d = max |x| / 127; q = round(x / d), halves away from zero, with d before it was rounded to f16.
void encode_q8_0(const float* values, uint8_t* blocks, size_t n) {
  for (size_t i = 0; i < n / 32; ++i, values += 32) {
    float amax = 0;
    for (int j = 0; j < 32; ++j) amax = std::max(amax, std::fabs(values[j]));
    const float d = amax / 127.0f;
    const float inverse = d != 0 ? 1.0f / d : 0.0f;
    BlockQ8_0 b;
    b.d = f32_to_f16(d);
    for (int j = 0; j < 32; ++j) {
      const float q = std::round(values[j] * inverse);
      b.qs[j] = static_cast<int8_t>(q >= 127.0f    ? 127.0f
                                    : q >= -127.0f ? q
                                    : q < -127.0f  ? -127.0f
                                                   : 0.0f);  // NaN: 0
    }
    store_block(b, blocks, i);
  }
}

}  // namespace llmrt
