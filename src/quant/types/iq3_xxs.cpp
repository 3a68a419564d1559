#include "quant/types/iq3_xxs.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/iq_grids.h"

namespace llmrt {

void decode_iq3_xxs(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i) {
    const auto b = load_block<BlockIq3Xxs>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t g = 0; g < 32; ++g, out += 8) {
      const auto bits = load_block<uint32_t>(b.sub, g / 4);
      const float scale = d * (0.5f + static_cast<float>(bits >> 28)) * 0.5f;
      const uint32_t signs = even_signs((bits >> (7 * (g % 4))) & 127);
      for (size_t l = 0; l < 8; ++l) {
        const uint16_t point = kIq3XxsGrid[b.qs[2 * g + l / 4]];
        const uint8_t size = kIq3XxsSizes[(point >> (4 * (l % 4))) & 7];
        out[l] = with_sign(scale * static_cast<float>(size), signs, l);
      }
    }
  }
}

}  // namespace llmrt
