#include "quant/types/iq2_s.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/iq_grids.h"

namespace llmrt {

void decode_iq2_s(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i) {
    const auto b = load_block<BlockIq2S>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t g = 0; g < 32; ++g, out += 8) {
      const int s = (b.scales[g / 4] >> (4 * (g / 2 % 2))) & 15;
      const float scale = d * (0.5f + static_cast<float>(s)) * 0.25f;
      const size_t high = (b.qh[g / 4] >> (2 * (g % 4))) & 3u;
      put_iq2_group(kIq2SGrid[b.qs[g] | high << 8], b.signs[g], scale, out);
    }
  }
}

}  // namespace llmrt
