// KV storage of one model: blocks in slabs of kSlabBlocks, taken as first used (docs/decisions/005-kv-slabs-reserve-nothing.md).
//
//   slab s: | block 64 s | block 64 s + 1 | ... |        block: | layer 0 | layer 1 | ... |      layer: | head 0 | head 1 | ... |
//
// A block belongs to one group at a time; all groups share ids, so a block has the bytes of the largest group.
// bytes() == (slabs held) * kSlabBlocks * block_bytes.  Block 0 (the zero block) is zero from creation on and never written.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/kv_head_layout.h"
#include "base/memory.h"
#include "base/status.h"

namespace llmrt::cpu {

class KvSlabs {
 public:
  static Result<std::unique_ptr<KvSlabs>> create(std::span<const KvGroup> groups,
                                                 const KvConfig& config);
  static uint64_t block_bytes(const KvGroup& group, const KvConfig& config);

  Status commit(BlockId block);
  void release(std::span<const BlockId> free_blocks);
  Status copy(BlockId from, BlockId to);
  int64_t bytes() const { return static_cast<int64_t>(n_slabs_ * kSlabBlocks * block_bytes_); }

  std::span<const KvGroup> groups() const { return groups_; }
  const KvConfig& config() const { return config_; }
  const KvHeadLayout& layout(uint32_t group) const { return layouts_[group]; }
  // The head's bytes in a committed block; the zero block's for one that is not committed (only masked keys lie there).
  uint8_t* head(BlockId block, uint32_t group, uint32_t layer, uint32_t kv_head) const {
    const size_t at =
        (size_t{layer} * groups_[group].n_kv_head + kv_head) * layouts_[group].head_bytes;
    const uint32_t slab = block / kSlabBlocks;
    if (slab >= slabs_.size() || !slabs_[slab]) return const_cast<uint8_t*>(slabs_[0].data()) + at;
    return const_cast<uint8_t*>(slabs_[slab].data()) + block % kSlabBlocks * block_bytes_ + at;
  }

 private:
  KvSlabs() = default;
  std::vector<KvGroup> groups_;
  std::vector<KvHeadLayout> layouts_;  // [groups]
  KvConfig config_;
  size_t block_bytes_ = 0;
  size_t n_slabs_ = 0;
  std::vector<Buffer> slabs_;        // [n_blocks / kSlabBlocks, rounded up]
  std::vector<uint64_t> committed_;  // one bit per block of a slab
  static_assert(kSlabBlocks <= 64);
};

}  // namespace llmrt::cpu
