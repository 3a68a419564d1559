#include "quant/types/iq1_s.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/iq_grids.h"

namespace llmrt {

void decode_iq1_s(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i) {
    const auto b = load_block<BlockIq1S>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t g = 0; g < 32; ++g, out += 8) {
      const uint32_t sub = b.qh[g / 4];
      const float scale = d * static_cast<float>(2 * ((sub >> 12) & 7u) + 1);
      const size_t high = (sub >> (3 * (g % 4))) & 7u;
      put_iq1_group(kIq1Grid[b.qs[g] | high << 8], scale, sub >> 15 ? -kIq1Shift : kIq1Shift, out);
    }
  }
}

}  // namespace llmrt
