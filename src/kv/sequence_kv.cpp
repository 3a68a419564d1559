#include "kv/sequence_kv.h"

#include <algorithm>
#include <utility>

#include "base/plant.h"
#include "kv/prefix_cache.h"

namespace llmrt {
namespace {

// Blocks on their way into tables: given back unless they arrive, whatever fails or throws in between.
struct Taken {
  explicit Taken(BlockPool& from) : pool(from) {}
  ~Taken() {
    for (BlockId b : blocks) pool.drop_ref(b);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  BlockPool& pool;
  std::vector<BlockId> blocks;
};

}  // namespace

SequenceKv::SequenceKv(SequenceKv&& other) noexcept
    : tables_(std::move(other.tables_)),
      first_(std::move(other.first_)),
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

  Taken taken(pool);
  taken.blocks.reserve(n_new);
  for (auto& table : tables_) {
    if (table.capacity() < entries) table.reserve(std::max<size_t>(entries, 2 * table.capacity()));
  }
  for (uint32_t i = 0; i < n_new; ++i) {
    LLMRT_ASSIGN(const BlockId block, pool.take());
    taken.blocks.push_back(block);
  }
  size_t next = 0;
  if (n_copies > 0) {
    for (const auto& table : tables_) {
      if (pool.refs(table[tail]) <= 1) continue;
      LLMRT_TRY(pool.store().copy(table[tail], taken.blocks[next++]));
    }
    next = 0;
    for (uint32_t g = 0; g < n_groups; ++g) {
      BlockId& entry = tables_[g][tail];
      if (pool.refs(entry) <= 1) continue;
      const BlockId copy = taken.blocks[next++];
      if (LLMRT_PLANT(stale_table_row, false, g + 1 == n_groups)) {
        pool.drop_ref(copy);
        continue;
      }
      pool.drop_ref(entry);
      entry = copy;
    }
  }
  for (auto& table : tables_) {
    while (table.size() < entries) table.push_back(taken.blocks[next++]);
  }
  taken.blocks.clear();  // all have an owner now
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

SequenceKv SequenceKv::fork(BlockPool& pool) const {
  SequenceKv copy(pool.layout());
  const uint32_t entries = pool.layout().blocks_for(computed_);
  for (uint32_t g = 0; g < tables_.size(); ++g) copy.tables_[g].reserve(entries + 1);
  // nothing below allocates
  for (uint32_t g = 0; g < tables_.size(); ++g) {
    copy.first_[g] = std::min(first_[g], entries);
    for (uint32_t i = 0; i < entries; ++i) {
      const BlockId b = tables_[g][i];
      copy.tables_[g].push_back(b);
      const bool counted = LLMRT_PLANT(fork_unshared_tail, true, i + 1 < entries);
      if (i >= first_[g] && counted) pool.add_ref(b);
    }
  }
  copy.computed_ = copy.reserved_ = computed_;
  copy.node_ = node_;
  copy.depth_ = depth_;
  if (node_) ++node_->pins;
  return copy;
}

}  // namespace llmrt
