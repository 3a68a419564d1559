#include "quant/types/q4_1.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q4_1(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 32; ++i, out += 32) {
    const auto b = load_block<BlockQ4_1>(blocks, i);
    const float d = f16_to_f32(b.d);
    const float m = f16_to_f32(b.m);
    for (int j = 0; j < 16; ++j) {
      out[j] = d * static_cast<float>(b.qs[j] & 15) + m;
      out[j + 16] = d * static_cast<float>(b.qs[j] >> 4) + m;
    }
  }
}

}  // namespace llmrt
