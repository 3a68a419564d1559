#include "quant/types/iq2_xs.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/iq_grids.h"

namespace llmrt {

void decode_iq2_xs(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i) {
    const auto b = load_block<BlockIq2Xs>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t g = 0; g < 32; ++g, out += 8) {
      const int s = (b.scales[g / 4] >> (4 * (g / 2 % 2))) & 15;
      const float scale = d * (0.5f + static_cast<float>(s)) * 0.25f;
      put_iq2_group(kIq2XsGrid[b.qs[g] & 511], even_signs(b.qs[g] >> 9), scale, out);
    }
  }
}

}  // namespace llmrt
