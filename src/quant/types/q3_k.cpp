#include "quant/types/q3_k.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q3_k(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i, out += 256) {
    const auto b = load_block<BlockQ3_K>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t j = 0; j < 16; ++j) {  // sub-block j: half j/8, plane (j%8)/2, byte 16*(j%2) on
      const uint8_t* q = b.qs + 32 * (j / 8) + 16 * (j % 2);
      const uint8_t* high = b.hmask + 16 * (j % 2);
      const size_t plane = (j % 8) / 2;
      const size_t high_bit = 4 * (j / 8) + plane;
      const float scale = d * static_cast<float>(q3_k_scale(b.scales, j));
      for (size_t l = 0; l < 16; ++l) {
        const int code = ((q[l] >> (2 * plane)) & 3) | (((high[l] >> high_bit) & 1) << 2);
        out[16 * j + l] = scale * static_cast<float>(code - 4);
      }
    }
  }
}

}  // namespace llmrt
