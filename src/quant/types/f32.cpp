#include "quant/types/f32.h"

#include <cstring>

namespace llmrt {

void decode_f32(const uint8_t* blocks, float* out, size_t n) {
  std::memcpy(out, blocks, n * sizeof(float));
}

void encode_f32(const float* values, uint8_t* blocks, size_t n) {
  std::memcpy(blocks, values, n * sizeof(float));
}

}  // namespace llmrt
