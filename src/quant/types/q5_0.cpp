#include "quant/types/q5_0.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q5_0(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 32; ++i, out += 32) {
    const auto b = load_block<BlockQ5_0>(blocks, i);
    const float d = f16_to_f32(b.d);
    const auto qh = load_block<uint32_t>(b.qh, 0);
    for (int j = 0; j < 16; ++j) {
      const int high0 = static_cast<int>((qh >> j) & 1u) << 4;
      const int high1 = static_cast<int>((qh >> (j + 16)) & 1u) << 4;
      out[j] = d * static_cast<float>(((b.qs[j] & 15) | high0) - 16);
      out[j + 16] = d * static_cast<float>(((b.qs[j] >> 4) | high1) - 16);
    }
  }
}

}  // namespace llmrt
