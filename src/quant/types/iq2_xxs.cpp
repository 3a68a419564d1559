#include "quant/types/iq2_xxs.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/iq_grids.h"

namespace llmrt {

void decode_iq2_xxs(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i) {
    const auto b = load_block<BlockIq2Xxs>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (const uint8_t(&sub)[8] : b.sub) {
      const auto bits = load_block<uint32_t>(sub, 1);
      const float scale = d * (0.5f + static_cast<float>(bits >> 28)) * 0.25f;
      for (size_t g = 0; g < 4; ++g, out += 8)
        put_iq2_group(kIq2XxsGrid[sub[g]], even_signs((bits >> (7 * g)) & 127), scale, out);
    }
  }
}

}  // namespace llmrt
