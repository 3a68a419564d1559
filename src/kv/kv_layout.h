// KvLayout: how the KV cache of a model is cut into blocks. Numbers only: no sequences, no device.
//
// A block holds block_tokens consecutive positions of one sequence in every layer of one group:
//
//   block 17 of group 0 (layers 0 3 6)          the table of a sequence, one row per group
//   +---------+---------+-----+----------+
//   | pos 64  | pos 65  | ... | pos 95   |      entry        0     1     2     3
//   |  K V L0 |  K V L0 |     |  K V L0  |      positions   0..  32..  64..  96..
//   |  K V L3 |  K V L3 |     |  K V L3  |      full      [  9     4    17     5 ]
//   |  K V L6 |  K V L6 |     |  K V L6  |      window 40 [  0     0    11     2 ]   0 = slid out, the zero block
//   +---------+---------+-----+----------+
//
// Groups have equal block bytes (layers are dealt into groups of equal size), so one pool of ids serves all groups; a block belongs
// to whoever holds its id, in the group whose table names it. Ids 0 (zeros) and 1 (trash) are never in the pool.
//
// Words: a row at position p of a window group sees p - window + 1 .. p. `computed` positions are final, so the next row is at
// position `computed`, and entries below live_from(g, computed) can never be read again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "graph/kv_spec.h"

namespace llmrt {

inline constexpr uint32_t kMostBlocks = uint32_t{1} << 26;

struct KvLayout {
  std::vector<KvGroup> groups;
  uint32_t block_tokens = 32;
  uint32_t n_blocks = 0;     // ids 0 .. n_blocks - 1, the two reserved ones included
  uint64_t block_bytes = 0;  // of every block, whatever its group

  uint32_t n_groups() const { return static_cast<uint32_t>(groups.size()); }
  uint32_t capacity() const { return n_blocks - kFirstBlock; }  // blocks that can be handed out
  uint32_t blocks_for(uint32_t n_tokens) const {
    return n_tokens / block_tokens + (n_tokens % block_tokens != 0 ? 1 : 0);
  }
  // First table entry of group g that a row at position `computed` or later can see.
  uint32_t live_from(uint32_t g, uint32_t computed) const;
  // Most blocks one sequence of n_tokens ever holds, over all groups, when no pass brings more than `chunk` rows.
  uint64_t worst_blocks(uint32_t n_tokens, uint32_t chunk) const;
  // Longest sequence whose worst_blocks(n, 1) fit the pool; at most `limit`.
  uint32_t longest_sequence(uint32_t limit) const;
};

// config: of checked options; at most kMostBlocks. block_bytes[g]: the backend's answer for groups[g]. Errors name the group and both
// numbers.
Result<KvLayout> make_kv_layout(std::span<const KvGroup> groups, const KvConfig& config,
                                std::span<const uint64_t> block_bytes);

}  // namespace llmrt
