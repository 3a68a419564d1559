// F16: IEEE float16, little-endian. A block is one value of 2 bytes: [ s eeeee mmmmmmmmmm ].
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

void decode_f16(const uint8_t* blocks, float* out, size_t n);
void encode_f16(const float* values, uint8_t* blocks, size_t n);

}  // namespace llmrt
