#include "quant/types/iq1_m.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/iq_grids.h"

namespace llmrt {

void decode_iq1_m(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i) {
    const auto b = load_block<BlockIq1M>(blocks, i);
    uint32_t d_bits = 0;
    for (size_t k = 0; k < 4; ++k) d_bits |= (uint32_t{b.scales[k]} >> 12) << (4 * k);
    const float d = f16_to_f32(static_cast<uint16_t>(d_bits));
    for (size_t g = 0; g < 32; ++g, out += 8) {
      const size_t j = g / 2;
      const int s = (b.scales[j / 4] >> (3 * (j % 4))) & 7;
      const float scale = d * static_cast<float>(2 * s + 1);
      const size_t nibble = (b.qh[j] >> (4 * (g % 2))) & 15u;
      put_iq1_group(kIq1Grid[b.qs[g] | (nibble & 7) << 8], scale,
                    nibble & 8 ? -kIq1Shift : kIq1Shift, out);
    }
  }
}

}  // namespace llmrt
