#include "quant/types/q2_0.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q2_0(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 64; ++i, out += 64) {
    const auto b = load_block<BlockQ2_0>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t k = 0; k < 64; ++k)
      out[k] = d * static_cast<float>(((b.qs[k / 4] >> (2 * (k % 4))) & 3) - 1);
  }
}

}  // namespace llmrt
