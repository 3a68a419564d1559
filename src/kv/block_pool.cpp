#include "kv/block_pool.h"

#include <algorithm>

namespace llmrt {

Result<BlockPool> BlockPool::create(const KvLayout& layout, KvStore& store) {
  BlockPool pool(layout, store);
  pool.meta_.resize(layout.n_blocks);
  pool.free_.reserve(layout.n_blocks);
  for (BlockId b = layout.n_blocks; b-- > kFirstBlock;) pool.free_.push_back(b);
  pool.n_bare_ = pool.n_free();
  for (BlockId b : {kZeroBlock, kTrashBlock}) {
    LLMRT_TRY(store.commit(b));
    pool.meta_[b].has_bytes = true;
  }
  return pool;
}

Result<BlockId> BlockPool::take() {
  if (free_.empty()) return Status(Code::out_of_memory);
  const BlockId b = free_.back();
  Meta& meta = meta_[b];
  if (!meta.has_bytes) {
    if (Status status = store_->commit(b); !status.ok()) {
      commit_failed_ = true;
      return status;
    }
    meta.has_bytes = true;
    --n_bare_;
  }
  free_.pop_back();
  meta.refs = 1;
  return b;
}

void BlockPool::add_ref(BlockId b) {
  Meta& meta = meta_[b];
  LLMRT_ASSERT(b >= kFirstBlock && meta.refs > 0);
  if (meta.published && meta.refs == 1) --n_idle_;
  ++meta.refs;
}

void BlockPool::drop_ref(BlockId b) {
  Meta& meta = meta_[b];
  LLMRT_ASSERT(b >= kFirstBlock && meta.refs > 0);
  --meta.refs;
  if (meta.refs == 0)
    free_.push_back(b);
  else if (meta.published && meta.refs == 1)
    ++n_idle_;
}

void BlockPool::publish(BlockId b) {
  Meta& meta = meta_[b];
  LLMRT_ASSERT(b >= kFirstBlock && meta.refs > 0 && !meta.published);
  meta.published = true;
  ++meta.refs;
}

void BlockPool::unpublish(BlockId b) {
  Meta& meta = meta_[b];
  LLMRT_ASSERT(meta.published);
  if (meta.refs == 1) --n_idle_;
  meta.published = false;
  drop_ref(b);
}

uint32_t BlockPool::trim() {
  std::sort(free_.begin(), free_.end());  // the free blocks of a slab stand together now
  for (size_t i = 0, end = 0; i < free_.size(); i = end) {
    const uint32_t slab = free_[i] / kSlabBlocks;
    const uint32_t slab_size = std::min(kSlabBlocks, layout_.n_blocks - slab * kSlabBlocks);
    while (end < free_.size() && free_[end] / kSlabBlocks == slab) ++end;
    if (end - i < slab_size) continue;
    for (size_t j = i; j < end; ++j) meta_[free_[j]].leaves = meta_[free_[j]].has_bytes;
  }
  const auto rest =
      std::partition(free_.begin(), free_.end(), [this](BlockId b) { return meta_[b].leaves; });
  const std::span<const BlockId> given(free_.begin(), rest);
  if (!given.empty()) store_->release(given);
  for (BlockId b : given) meta_[b].has_bytes = meta_[b].leaves = false;
  const auto n_given = static_cast<uint32_t>(given.size());
  n_bare_ += n_given;
  std::sort(free_.begin(), free_.end(), [&](BlockId a, BlockId b) {
    if (meta_[a].has_bytes != meta_[b].has_bytes) return !meta_[a].has_bytes;
    return a > b;
  });
  return n_given;
}

Status BlockPool::validate() const {
  uint32_t bare = 0, idle = 0, held = 0, unreferenced = 0;
  bool bottom = true;
  for (BlockId b : free_) {
    if (meta_[b].refs != 0 || meta_[b].published)
      return error(Code::internal, "block %u is in the free list with %u references", b,
                   meta_[b].refs);
    if (meta_[b].has_bytes) bottom = false;
    if (!meta_[b].has_bytes) {
      if (!bottom)
        return error(Code::internal, "block %u without bytes lies above one with bytes", b);
      ++bare;
    }
  }
  if (bare != n_bare_)
    return error(Code::internal, "%u free blocks have no bytes, the pool counts %u", bare, n_bare_);
  for (BlockId b = kFirstBlock; b < layout_.n_blocks; ++b) {
    const Meta& meta = meta_[b];
    if (meta.refs == 0)
      ++unreferenced;
    else if (meta.published && meta.refs == 1)
      ++idle;
    else
      ++held;
    if (meta.refs != 0 && !meta.has_bytes)
      return error(Code::internal, "block %u is in use and has no bytes", b);
  }
  if (meta_[kZeroBlock].refs != 0 || meta_[kTrashBlock].refs != 0)
    return error(Code::internal, "a reserved block has references");
  if (unreferenced != n_free())
    return error(Code::internal, "%u blocks have no references, the free list has %u", unreferenced,
                 n_free());
  if (idle != n_idle_)
    return error(Code::internal, "%u blocks are idle, the pool counts %u", idle, n_idle_);
  if (unreferenced + idle + held + kFirstBlock != layout_.n_blocks)
    return error(Code::internal, "free %u + idle %u + held %u + 2 is not %u", unreferenced, idle,
                 held, layout_.n_blocks);
  return {};
}

}  // namespace llmrt
