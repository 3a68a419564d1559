#include "quant/types/iq3_s.h"

#include "base/half.h"
#include "quant/types/block.h"
#include "quant/types/iq_grids.h"

namespace llmrt {

void decode_iq3_s(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i, out += 256) {
    const auto b = load_block<BlockIq3S>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (size_t p = 0; p < 64; ++p) {
      const int s = (b.scales[p / 16] >> (4 * (p / 8 % 2))) & 15;
      const float scale = d * static_cast<float>(1 + 2 * s);
      const size_t high = (b.qh[p / 8] >> (p % 8)) & 1u;
      const uint16_t point = kIq3SGrid[b.qs[p] | high << 8];
      for (size_t l = 0; l < 4; ++l) {
        const int size = 2 * ((point >> (4 * l)) & 7) + 1;
        out[4 * p + l] =
            with_sign(scale * static_cast<float>(size), b.signs[p / 2], 4 * (p % 2) + l);
      }
    }
  }
}

}  // namespace llmrt
