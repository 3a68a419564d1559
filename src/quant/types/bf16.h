// BF16: the upper half of a float32, little-endian. A block is one value of 2 bytes: [ s eeeeeeee mmmmmmm ].
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

void decode_bf16(const uint8_t* blocks, float* out, size_t n);
void encode_bf16(const float* values, uint8_t* blocks, size_t n);

}  // namespace llmrt
