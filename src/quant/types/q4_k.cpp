#include "quant/types/q4_k.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/k_scales.h"

namespace llmrt {

void decode_q4_k(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i, out += 256) {
    const auto b = load_block<BlockQ4_K>(blocks, i);
    const float d = f16_to_f32(b.d);
    const float dmin = f16_to_f32(b.dmin);
    const KScales s = unpack_k_scales(b.scales);
    for (size_t j = 0; j < 8; ++j) {
      const uint8_t* q = b.qs + 32 * (j / 2);
      const size_t shift = 4 * (j % 2);
      const float scale = d * static_cast<float>(s.scale[j]);
      const float min = dmin * static_cast<float>(s.min[j]);
      for (size_t l = 0; l < 32; ++l)
        out[32 * j + l] = scale * static_cast<float>((q[l] >> shift) & 15) - min;
    }
  }
}

}  // namespace llmrt
