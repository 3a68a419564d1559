#include "quant/types/f16.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_f16(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = f16_to_f32(load_block<uint16_t>(blocks, i));
}

void encode_f16(const float* values, uint8_t* blocks, size_t n) {
  for (size_t i = 0; i < n; ++i) store_block(f32_to_f16(values[i]), blocks, i);
}

}  // namespace llmrt
