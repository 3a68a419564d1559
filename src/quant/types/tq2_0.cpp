#include "quant/types/tq2_0.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_tq2_0(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i, out += 256) {
    const auto b = load_block<BlockTQ2_0>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t k = 0; k < 256; ++k) {
      const int code = (b.qs[k / 128 * 32 + k % 32] >> (2 * (k % 128 / 32))) & 3;
      out[k] = d * static_cast<float>(code - 1);
    }
  }
}

}  // namespace llmrt
