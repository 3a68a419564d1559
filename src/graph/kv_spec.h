// What the engine, kv/ and a backend must agree on about the KV cache. No sequences, no models.
//
// A group is a set of layers whose KV for a token lies in the same block: one block id names the block in every layer of its group.
// All groups of a model have the same bytes per block (layers are dealt into groups of equal size), so one pool serves all.
#pragma once

#include <cstdint>

#include "quant/row_codec.h"

namespace llmrt {

using BlockId = uint32_t;
// all zero bytes, never written; stands for keys that slid out of a window
inline constexpr BlockId kZeroBlock = 0;
inline constexpr BlockId kTrashBlock = 1;  // padding rows write here
inline constexpr BlockId kFirstBlock = 2;
// bytes are taken from the system and go back to it in runs of this many blocks
inline constexpr uint32_t kSlabBlocks = 64;

// Tokens of a block. One key chunk of attention (256) is a whole number of them.
constexpr bool is_block_tokens(int64_t n) { return n == 16 || n == 32 || n == 64; }

inline constexpr uint32_t kMaxHeadWidth = 1024;  // of d_k and d_v

enum class AttnKind : uint8_t { full, window };

struct KvGroup {
  AttnKind kind = AttnKind::full;
  uint32_t window = 0;    // window kind: a token sees itself and window - 1 tokens before it
  uint32_t n_layers = 0;  // layers in this group
  uint32_t n_kv_head = 0;
  uint32_t d_k = 0, d_v = 0;  // per head
  bool operator==(const KvGroup&) const = default;
};

struct KvConfig {
  KvCodec codec;
  uint32_t block_tokens = 32;  // is_block_tokens()
  uint32_t n_blocks = 0;       // ids 0 .. n_blocks - 1, the two reserved ones included
};

// A backend's answer to "how large is a block of this group".
struct KvGeometry {
  uint64_t block_bytes = 0;
};

}  // namespace llmrt
