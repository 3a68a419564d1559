// How one KV head's share of a block lies in memory: keys as lanes for q.K, columns as lanes for p V (kernels/attention.inl.h).
//
//   head of a block:  | K | V |          T = block_tokens, D = d_v padded to 16
//   K   f32, f16      [d_k][T]           bf16: [d_k/2][T][2], pairs of d (d_k odd: one more, zero)
//   V   f32, f16      [T][D]             bf16: [T/2][D][2], pairs of tokens
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/kv_spec.h"

namespace llmrt::cpu {

struct KvHeadLayout {
  KvCodec codec;
  uint32_t block_tokens = 0, d_k = 0, d_v = 0;
  size_t v_at = 0;        // bytes of K
  size_t head_bytes = 0;  // a multiple of 64
};
KvHeadLayout kv_head_layout(const KvGroup& group, const KvConfig& config);

// Row `slot` of a head's block. Values are encoded as quant/row_codec.h says.
void store_k(const KvHeadLayout& layout, uint8_t* head, uint32_t slot, const float* values);
void store_v(const KvHeadLayout& layout, uint8_t* head, uint32_t slot, const float* values);
// Zeroes V of slots first .. block_tokens - 1: what attention multiplies by p = 0 must be finite. Called where a block's first row is
// written. A pass that goes on inside a block (after SequenceKv::truncate, or in the copy of a shared tail) relies on the slots behind it:
// they are zero from that call, or hold rows of an earlier pass, which are finite because a sequence with other values is released.
void clear_v(const KvHeadLayout& layout, uint8_t* head, uint32_t first);

}  // namespace llmrt::cpu
