#include "quant/types/tq1_0.h"

#include "base/half.h"
#include "quant/types/block.h"

namespace llmrt {
namespace {

// n_digits of each of n_bytes, all first digits before all second ones. Returns the end of what was written.
float* put_digits(const uint8_t* bytes, size_t n_bytes, size_t n_digits, float d, float* out) {
  uint32_t power = 1;
  for (size_t k = 0; k < n_digits; ++k, power *= 3)
    for (size_t l = 0; l < n_bytes; ++l) {
      const uint32_t rest = (bytes[l] * power) & 255u;
      *out++ = d * (static_cast<float>((rest * 3) >> 8) - 1.0f);
    }
  return out;
}

}  // namespace

void decode_tq1_0(const uint8_t* blocks, float* out, size_t n) {
  for (size_t i = 0; i < n / 256; ++i) {
    const auto b = load_block<BlockTQ1_0>(blocks, i);
    const float d = f16_to_f32(b.d);
    out = put_digits(b.qs, 32, 5, d, out);
    out = put_digits(b.qs + 32, 16, 5, d, out);
    out = put_digits(b.qh, 4, 4, d, out);
  }
}

}  // namespace llmrt
