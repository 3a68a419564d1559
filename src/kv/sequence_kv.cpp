#include "kv/sequence_kv.h"

#include <algorithm>
#include <utility>

#include "base/plant.h"
#include "kv/prefix_cache.h"

namespace llmrt {
namespace {

// What reserve() took, given back unless all of it arrived, whatever fails in between: the entries beyond `entries` of every table, and
// the copies.
struct Taken {
  ~Taken() {
    if (arrived) return;
    for (auto& table : tables) {
      for (; table.size() > entries; table.pop_back()) pool.drop_ref(table.back());
    }
    for (BlockId b : copies) pool.drop_ref(b);
    copies.clear();
  }
  BlockPool& pool;
  std::vector<std::vector<BlockId>>& tables;
  std::vector<BlockId>& copies;
  const uint32_t entries;
  bool arrived = false;
};

}  // namespace

SequenceKv::SequenceKv(const KvLayout& layout)
    : tables_(layout.n_groups()), first_(layout.n_groups(), 0) {
  copies_.reserve(layout.n_groups());
}

void SequenceKv::reserve_tables(const KvLayout& layout, uint32_t longest) {
  for (auto& table : tables_) table.reserve(layout.blocks_for(longest));
}

SequenceKv::SequenceKv(SequenceKv&& other) noexcept
    : tables_(std::move(other.tables_)),
      first_(std::move(other.first_)),
      copies_(std::move(other.copies_)),
      computed_(std::exchange(other.computed_, 0)),
      reserved_(std::exchange(other.reserved_, 0)),
      node_(std::exchange(other.node_, nullptr)),
      depth_(std::exchange(other.depth_, 0)) {
  other.tables_.clear();
}

SequenceKv& SequenceKv::operator=(SequenceKv&& other) noexcept {
  LLMRT_ASSERT(node_ == nullptr && n_entries() == 0);
  tables_.swap(other.tables_);
  first_.swap(other.first_);
  copies_.swap(other.copies_);
  std::swap(computed_, other.computed_);
  std::swap(reserved_, other.reserved_);
  std::swap(node_, other.node_);
  std::swap(depth_, other.depth_);
  return *this;
}

uint32_t SequenceKv::n_blocks() const {
  uint32_t n = 0;
  for (uint32_t g = 0; g < tables_.size(); ++g) n += n_entries() - first_[g];
  return n;
}

uint32_t SequenceKv::shared_tail_blocks(const BlockPool& pool) const {
  const uint32_t tail = computed_ / pool.layout().block_tokens;
  if (computed_ % pool.layout().block_tokens == 0 || tail >= n_entries()) return 0;
  uint32_t n = 0;
  for (const auto& table : tables_) n += pool.refs(table[tail]) > 1 ? 1 : 0;
  return n;
}

uint32_t SequenceKv::blocks_missing(const BlockPool& pool, uint32_t n) const {
  const uint32_t entries = pool.layout().blocks_for(n);
  const uint32_t more = entries > n_entries() ? entries - n_entries() : 0;
  return more * static_cast<uint32_t>(tables_.size()) +
         (n > computed_ ? shared_tail_blocks(pool) : 0);
}

Result<uint32_t> SequenceKv::reserve(BlockPool& pool, uint32_t n) {
  if (n <= computed_) return 0u;
  const uint32_t n_groups = static_cast<uint32_t>(tables_.size());
  const uint32_t entries = std::max(pool.layout().blocks_for(n), n_entries());
  const uint32_t tail = computed_ / pool.layout().block_tokens;
  const uint32_t n_copies = LLMRT_PLANT(no_copy_on_write, shared_tail_blocks(pool), 0u);
  const uint32_t n_new = (entries - n_entries()) * n_groups + n_copies;
  if (n_new == 0) {
    reserved_ = std::max(reserved_, n);
    return 0u;
  }

  copies_.reserve(n_copies);
  for (auto& table : tables_) {
    if (table.capacity() < entries) table.reserve(std::max<size_t>(entries, 2 * table.capacity()));
  }
  // nothing below allocates, but the store for blocks without bytes
  Taken taken{pool, tables_, copies_, n_entries()};
  while (copies_.size() < n_copies) {
    LLMRT_ASSIGN(const BlockId block, pool.take());
    copies_.push_back(block);
  }
  for (auto& table : tables_) {
    while (table.size() < entries) {
      LLMRT_ASSIGN(const BlockId block, pool.take());
      table.push_back(block);
    }
  }
  if (n_copies > 0) {
    size_t next = 0;
    for (const auto& table : tables_) {
      if (pool.refs(table[tail]) <= 1) continue;
      LLMRT_TRY(pool.store().copy(table[tail], copies_[next++]));
    }
    next = 0;
    for (uint32_t g = 0; g < n_groups; ++g) {
      BlockId& entry = tables_[g][tail];
      if (pool.refs(entry) <= 1) continue;
      const BlockId copy = copies_[next++];
      if (LLMRT_PLANT(stale_table_row, false, g + 1 == n_groups)) {
        pool.drop_ref(copy);
        continue;
      }
      pool.drop_ref(entry);
      entry = copy;
    }
  }
  copies_.clear();
  taken.arrived = true;  // all have an owner now
  reserved_ = std::max(reserved_, n);
  return n_copies;
}

uint32_t SequenceKv::slide(BlockPool& pool) {
  uint32_t dropped = 0;
  for (uint32_t g = 0; g < tables_.size(); ++g) {
    const uint32_t from = std::min(pool.layout().live_from(g, computed_), n_entries());
    for (; first_[g] < from; ++first_[g], ++dropped) {
      pool.drop_ref(tables_[g][first_[g]]);
      tables_[g][first_[g]] = kZeroBlock;
    }
  }
  return dropped;
}

void SequenceKv::drop_entries(BlockPool& pool, uint32_t entries) {
  for (uint32_t g = 0; g < tables_.size(); ++g) {
    auto& table = tables_[g];
    while (table.size() > entries) {
      if (table.size() > first_[g]) pool.drop_ref(table.back());
      table.pop_back();
    }
    first_[g] = std::min(first_[g], entries);
  }
}

uint32_t SequenceKv::truncate(BlockPool& pool, uint32_t n) {
  n = std::min(n, reserved_);
  if (n < computed_) {
    for (uint32_t g = 0; g < tables_.size(); ++g) {
      if (pool.layout().live_from(g, n) < first_[g]) n = 0;
    }
  }
  const uint32_t P = pool.layout().block_tokens;
  while (depth_ > n / P) {  // node_ covers positions below depth_ * P
    --node_->pins;
    node_ = node_->parent;
    ++node_->pins;
    --depth_;
  }
  drop_entries(pool, LLMRT_PLANT(truncate_one_more, pool.layout().blocks_for(n),
                                 n == 0 ? 0 : pool.layout().blocks_for(n + 1)));
  computed_ = std::min(computed_, n);
  reserved_ = n;
  return n;
}

void SequenceKv::fork_to(BlockPool& pool, SequenceKv& empty) const {
  LLMRT_ASSERT(empty.node_ == nullptr && empty.n_entries() == 0);
  const uint32_t entries = pool.layout().blocks_for(computed_);
  for (auto& table : empty.tables_) table.reserve(entries);
  // nothing below allocates
  for (uint32_t g = 0; g < tables_.size(); ++g) {
    empty.first_[g] = std::min(first_[g], entries);
    for (uint32_t i = 0; i < entries; ++i) {
      const BlockId b = tables_[g][i];
      empty.tables_[g].push_back(b);
      const bool counted = LLMRT_PLANT(fork_unshared_tail, true, i + 1 < entries);
      if (i >= first_[g] && counted) pool.add_ref(b);
    }
  }
  empty.computed_ = empty.reserved_ = computed_;
  empty.node_ = node_;
  empty.depth_ = depth_;
  if (node_) ++node_->pins;
}

}  // namespace llmrt
