#include "quant/types/iq4_nl.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_iq4_nl(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 32; ++i, out += 32) {
    const auto b = load_block<BlockIq4Nl>(blocks, i);
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 16; ++j) {
      out[j] = d * static_cast<float>(kIq4Values[b.qs[j] & 15]);
      out[j + 16] = d * static_cast<float>(kIq4Values[b.qs[j] >> 4]);
    }
  }
}

}  // namespace llmrt
