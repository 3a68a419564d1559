// BlockPool: who holds which block. Knows no tokens and no sequences.
//
//   refs(b)  = table entries naming b + (1 if the prefix tree names b)
//   free     : refs == 0                            free + held + idle + 2 = n_blocks
//   idle     : refs == 1 and published (only the tree names it: can be had by eviction)
//   held     : the rest
//
// Free blocks are a stack. Those without bytes lie at the bottom, lowest id uppermost; blocks that come back go on top, so bytes are
// taken from the backend only when no free block has any:
//
//   free_:  [ 191 190 ... 130 129 | 40 12 77 ]  <- take()
//             no bytes yet          bytes
//
// Nothing that gives blocks or bytes back allocates, so releasing and trimming work after a failed allocation too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "kv/kv_layout.h"
#include "kv/kv_store.h"

namespace llmrt {

class BlockPool {
 public:
  // Commits the two reserved blocks. store outlives the pool.
  static Result<BlockPool> create(const KvLayout& layout, KvStore& store);

  const KvLayout& layout() const { return layout_; }
  KvStore& store() const { return *store_; }

  // refs = 1. Fails with out_of_memory if no block is free, or with the store's status if there are no bytes for one.
  Result<BlockId> take();
  void add_ref(BlockId b);
  void drop_ref(BlockId b);   // the last one frees the block
  void publish(BlockId b);    // the tree takes a reference of its own
  void unpublish(BlockId b);  // and gives it up

  uint32_t refs(BlockId b) const { return meta_[b].refs; }
  bool published(BlockId b) const { return meta_[b].published; }
  bool idle(BlockId b) const { return meta_[b].published && meta_[b].refs == 1; }
  uint32_t n_free() const { return static_cast<uint32_t>(free_.size()); }
  uint32_t n_idle() const { return n_idle_; }
  uint32_t n_held() const { return layout_.capacity() - n_free() - n_idle_; }
  // Free blocks that can be had now: after a failed commit only those with bytes count, until retry_commit().
  uint32_t n_usable() const { return commit_failed_ ? n_free() - n_bare_ : n_free(); }
  void retry_commit() { commit_failed_ = false; }
  bool commit_failed() const { return commit_failed_; }

  // Gives the bytes of wholly free slabs back; returns how many blocks lost theirs.
  uint32_t trim();

  Status validate() const;  // the equations that need no owner: counts, free list, stack order

 private:
  struct Meta {
    uint32_t refs = 0;
    bool published = false;
    bool has_bytes = false;
    bool leaves = false;  // in trim() only: its bytes go back
  };
  BlockPool(const KvLayout& layout, KvStore& store) : layout_(layout), store_(&store) {}

  KvLayout layout_;
  KvStore* store_;
  std::vector<Meta> meta_;     // [n_blocks]
  std::vector<BlockId> free_;  // capacity n_blocks: never grows
  uint32_t n_bare_ = 0;        // free blocks without bytes, at the bottom of free_
  uint32_t n_idle_ = 0;
  bool commit_failed_ = false;
};

}  // namespace llmrt
