#include "backends/cpu/kv_head_layout.h"

#include <cstring>

#include "base/half.h"

namespace llmrt::cpu {
namespace {

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }
uint32_t padded(uint32_t n) { return (n + 15) / 16 * 16; }
size_t element_bytes(RowCodec codec) { return codec == RowCodec::f32 ? 4 : 2; }

// values[j] to base + j * stride, in the codec's bytes.
void scatter(RowCodec codec, const float* values, uint32_t n, uint8_t* base, size_t stride) {
  for (uint32_t j = 0; j < n; ++j, base += stride) {
    if (codec == RowCodec::f32) {
      std::memcpy(base, &values[j], 4);
    } else {
      const uint16_t h = codec == RowCodec::f16 ? f32_to_f16(values[j]) : f32_to_bf16(values[j]);
      std::memcpy(base, &h, 2);
    }
  }
}

}  // namespace

KvHeadLayout kv_head_layout(const KvGroup& group, const KvConfig& config) {
  KvHeadLayout l{config.codec, config.block_tokens, group.d_k, group.d_v, 0, 0};
  const bool k_pairs = l.codec.k == RowCodec::bf16;
  const size_t k_depth = k_pairs ? round_up(l.d_k, 2) : l.d_k;
  l.v_at = round_up(k_depth * l.block_tokens * element_bytes(l.codec.k), 64);
  l.head_bytes =
      l.v_at + round_up(size_t{padded(l.d_v)} * l.block_tokens * element_bytes(l.codec.v), 64);
  return l;
}

void store_k(const KvHeadLayout& l, uint8_t* head, uint32_t slot, const float* values) {
  const size_t t = l.block_tokens;
  if (l.codec.k != RowCodec::bf16) {
    const size_t bytes = element_bytes(l.codec.k);
    scatter(l.codec.k, values, l.d_k, head + slot * bytes, t * bytes);
    return;
  }
  for (uint32_t j = 0; j < l.d_k; j += 2) {
    const uint16_t pair[2] = {f32_to_bf16(values[j]),
                              j + 1 < l.d_k ? f32_to_bf16(values[j + 1]) : uint16_t{0}};
    std::memcpy(head + (j / 2 * t + slot) * 4, pair, 4);
  }
}

void store_v(const KvHeadLayout& l, uint8_t* head, uint32_t slot, const float* values) {
  uint8_t* v = head + l.v_at;
  const size_t d = padded(l.d_v);
  if (l.codec.v == RowCodec::bf16) {
    scatter(l.codec.v, values, l.d_v, v + (slot / 2 * d * 2 + slot % 2) * 2, 4);
  } else {
    const size_t bytes = element_bytes(l.codec.v);
    scatter(l.codec.v, values, l.d_v, v + slot * d * bytes, bytes);
  }
}

void clear_v(const KvHeadLayout& l, uint8_t* head, uint32_t first) {
  if (first >= l.block_tokens) return;
  uint8_t* v = head + l.v_at;
  const size_t d = padded(l.d_v);
  const size_t row = d * element_bytes(l.codec.v);
  if (l.codec.v == RowCodec::bf16 && first % 2) {  // the second of a pair
    for (size_t j = 0; j < d; ++j) std::memset(v + (first / 2 * d * 2 + 2 * j + 1) * 2, 0, 2);
    ++first;
  }
  std::memset(v + first * row, 0, (l.block_tokens - first) * row);
}

}  // namespace llmrt::cpu
