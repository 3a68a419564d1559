#include "quant/types/q2_k.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_q2_k(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i, out += 256) {
    const auto b = load_block<BlockQ2_K>(blocks, i);
    const float d = f16_to_f32(b.d);
    const float dmin = f16_to_f32(b.dmin);
    for (size_t j = 0; j < 16; ++j) {  // sub-block j: half j/8, plane (j%8)/2, byte 16*(j%2) on
      const uint8_t* q = b.qs + 32 * (j / 8) + 16 * (j % 2);
      const size_t shift = 2 * ((j % 8) / 2);
      const float scale = d * static_cast<float>(b.scales[j] & 15);
      const float min = dmin * static_cast<float>(b.scales[j] >> 4);
      for (size_t l = 0; l < 16; ++l)
        out[16 * j + l] = scale * static_cast<float>((q[l] >> shift) & 3) - min;
    }
  }
}

}  // namespace llmrt
