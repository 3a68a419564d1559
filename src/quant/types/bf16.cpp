#include "quant/types/bf16.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {

void decode_bf16(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = bf16_to_f32(load_block<uint16_t>(blocks, i));
}

void encode_bf16(const float* values, uint8_t* blocks, size_t n) {
  for (size_t i = 0; i < n; ++i) store_block(f32_to_bf16(values[i]), blocks, i);
}

}  // namespace llmrt
