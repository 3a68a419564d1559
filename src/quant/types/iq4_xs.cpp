#include "quant/types/iq4_xs.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/iq4_nl.h"

namespace llmrt {

void decode_iq4_xs(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i, out += 256) {
    const auto b = load_block<BlockIq4Xs>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t j = 0; j < 8; ++j) {
      const uint8_t* q = b.qs + 16 * j;
      const float scale = d * static_cast<float>(iq4_xs_scale(b, j));
      for (size_t l = 0; l < 16; ++l) {
        out[32 * j + l] = scale * static_cast<float>(kIq4Values[q[l] & 15]);
        out[32 * j + l + 16] = scale * static_cast<float>(kIq4Values[q[l] >> 4]);
      }
    }
  }
}

}  // namespace llmrt
