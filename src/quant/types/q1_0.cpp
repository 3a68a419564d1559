#include "quant/types/q1_0.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q1_0(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 128; ++i, out += 128) {
    const auto b = load_block<BlockQ1_0>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t k = 0; k < 128; ++k) out[k] = (b.qs[k / 8] >> (k % 8)) & 1 ? d : -d;
  }
}

}  // namespace llmrt
