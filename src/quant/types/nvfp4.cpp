#include "quant/types/nvfp4.h"

#include "quant/types/block.h"
#include "quant/types/mxfp4.h"

namespace llmrt {

void decode_nvfp4(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 64; ++i) {
    const auto b = load_block<BlockNvfp4>(blocks, i);
    for (size_t j = 0; j < 4; ++j, out += 16) {
      const float scale = nvfp4_scale(b.d[j]);
      for (size_t l = 0; l < 8; ++l) {
        const uint8_t q = b.qs[8 * j + l];
        out[l] = scale * static_cast<float>(kMxfp4Values[q & 15]);
        out[l + 8] = scale * static_cast<float>(kMxfp4Values[q >> 4]);
      }
    }
  }
}

}  // namespace llmrt
