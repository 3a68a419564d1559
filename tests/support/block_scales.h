// Finite scales for a block of random bits, as a file would hold them: the rest of a block may be any bits.
#pragma once

#include <cstring>
#include <initializer_list>

#include "base/half.h"
#include "quant/dtype.h"

namespace llmrt::test {

// next(): a float for each float16 of the block. MXFP4 has none: its caller sets the exponent, byte 0.
template <class Next>
void set_block_scales(DType type, uint8_t* block, Next next) {
  const auto put = [&](std::initializer_list<size_t> offsets) {
    for (size_t at : offsets) {
      const uint16_t half = f32_to_f16(next());
      std::memcpy(block + at, &half, 2);
    }
  };
  switch (type) {
    case DType::q4_1:
    case DType::q5_1:
    case DType::q4_k:
    case DType::q5_k:
      return put({0, 2});
    case DType::q2_k:
      return put({80, 82});
    case DType::q3_k:
      return put({108});
    case DType::q6_k:
      return put({208});
    case DType::tq1_0:
      return put({52});
    case DType::tq2_0:
      return put({64});
    case DType::iq1_m: {  // in the high nibbles of four words
      const uint16_t half = f32_to_f16(next());
      for (size_t i = 0; i < 4; ++i) {
        uint8_t& byte = block[49 + 2 * i];
        byte = static_cast<uint8_t>((byte & 15) | (half >> (4 * i) & 15) << 4);
      }
      return;
    }
    case DType::nvfp4:
      for (size_t i = 0; i < 4; ++i) block[i] &= 0x1f;  // below 2^-3
      return;
    case DType::mxfp4:
      return;
    default:
      return put({0});
  }
}

}  // namespace llmrt::test
