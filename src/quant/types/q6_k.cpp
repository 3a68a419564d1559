#include "quant/types/q6_k.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q6_k(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i, out += 256) {
    const auto b = load_block<BlockQ6_K>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t j = 0; j < 16; ++j) {  // sub-block j: half j/8, plane (j%8)/2, byte 16*(j%2) on
      const size_t half = j / 8;
      const size_t plane = (j % 8) / 2;
      const size_t at = 16 * (j % 2);
      const uint8_t* low = b.ql + 64 * half + 32 * (plane % 2) + at;
      const uint8_t* high = b.qh + 32 * half + at;
      const float scale = d * static_cast<float>(b.scales[j]);
      for (size_t l = 0; l < 16; ++l) {
        const int code =
            ((low[l] >> (4 * (plane / 2))) & 15) | (((high[l] >> (2 * plane)) & 3) << 4);
        out[16 * j + l] = scale * static_cast<float>(code - 32);
      }
    }
  }
}

}  // namespace llmrt
