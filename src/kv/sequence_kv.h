// SequenceKv: the block tables of one sequence, one per group, and the only lengths anyone trusts.
//
//   positions   0 ........ computed ........ reserved ........
//               KV is final | a pass writes here | nothing
//
//   computed <= reserved <= entries * block_tokens, and every group has the same number of entries
//   entries below first(g) are the zero block (slid out of the window), the others are not
//   first(g) <= live_from(g, computed)
//   depth blocks are in the prefix tree: entry i < depth is the tree's own block of that node, or slid out
//   a block that will be written has refs == 1: reserve() copies the tail block first if another holder has it
//
// A table entry whose positions were computed never changes to other content (a publish may swap it for the tree's equal block).
// Releasing never allocates. The pool is not stored: whoever owns both passes it in, and releases before destruction.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/block_pool.h"

namespace llmrt {

struct PrefixNode;

class SequenceKv {
 public:
  explicit SequenceKv(const KvLayout& layout);
  SequenceKv(SequenceKv&& other) noexcept;
  SequenceKv& operator=(SequenceKv&& other) noexcept;  // precondition: this one holds nothing
  SequenceKv(const SequenceKv&) = delete;
  ~SequenceKv() { LLMRT_ASSERT(node_ == nullptr && (tables_.empty() || tables_[0].empty())); }

  // Takes the memory of the tables for `longest` tokens: nothing below takes any up to that length.
  void reserve_tables(const KvLayout& layout, uint32_t longest);

  std::span<const std::vector<BlockId>> tables() const { return tables_; }
  uint32_t computed() const { return computed_; }
  uint32_t reserved() const { return reserved_; }
  uint32_t n_entries() const {
    return tables_.empty() ? 0 : static_cast<uint32_t>(tables_[0].size());
  }
  uint32_t first(uint32_t g) const { return first_[g]; }
  const PrefixNode* node() const { return node_; }
  uint32_t depth() const { return depth_; }
  uint32_t n_blocks() const;  // held now, over all groups

  // Blocks that reserve(n) would take, the copies of a shared tail included.
  uint32_t blocks_missing(const BlockPool& pool, uint32_t n) const;
  uint32_t shared_tail_blocks(const BlockPool& pool) const;  // copies the next write needs
  // Rows up to position n - 1 may be written afterwards. All or nothing. Returns how many blocks were copied.
  Result<uint32_t> reserve(BlockPool& pool, uint32_t n);
  void commit(uint32_t n) {
    LLMRT_ASSERT(n >= computed_ && n <= reserved_);
    computed_ = n;
  }
  // Gives back the blocks no later row can see; returns how many.
  uint32_t slide(BlockPool& pool);
  // Keeps the first n positions at most. A window group may have lost what a row at position n sees; then nothing is kept. Total.
  // Returns the length kept.
  // What stood at n and beyond stays in the tail block, behind the rows that later passes write there, and attention multiplies it by
  // p = 0. So the dropped rows must be finite: a sequence whose rows are not vouched for is released, not truncated to an n inside a
  // block. (The engine truncates to 0 only, and publishes and forks rows that led to finite logits.)
  uint32_t truncate(BlockPool& pool, uint32_t n);
  // Makes `empty` a second holder of the same computed positions, the partly filled tail block included. Precondition: that one holds
  // nothing.
  void fork_to(BlockPool& pool, SequenceKv& empty) const;

 private:
  friend class PrefixCache;
  void drop_entries(BlockPool& pool, uint32_t n_entries);

  std::vector<std::vector<BlockId>> tables_;  // [n_groups][n_entries]
  std::vector<uint32_t> first_;               // [n_groups]
  std::vector<BlockId> copies_;               // of reserve(); empty outside, capacity: n_groups
  uint32_t computed_ = 0, reserved_ = 0;
  PrefixNode* node_ = nullptr;  // where it stands in the tree; nullptr: not in it
  uint32_t depth_ = 0;          // blocks from the root to node_
};

}  // namespace llmrt
