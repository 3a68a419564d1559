#include "quant/types/mxfp4.h"

#include "quant/types/block.h"

namespace llmrt {

void decode_mxfp4(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 32; ++i, out += 32) {
    const auto b = load_block<BlockMxfp4>(blocks, i);
    const float d = mxfp4_scale(b.e);
    for (int j = 0; j < 16; ++j) {
      out[j] = d * static_cast<float>(kMxfp4Values[b.qs[j] & 15]);
      out[j + 16] = d * static_cast<float>(kMxfp4Values[b.qs[j] >> 4]);
    }
  }
}

}  // namespace llmrt
