// F32: IEEE float32, little-endian. A block is one value of 4 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

void decode_f32(const uint8_t* blocks, float* out, size_t n);
void encode_f32(const float* values, uint8_t* blocks, size_t n);

}  // namespace llmrt
