#include "backends/cpu/kv_slabs.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace llmrt::cpu {

uint64_t KvSlabs::block_bytes(const KvGroup& group, const KvConfig& config) {
  return uint64_t{group.n_layers} * group.n_kv_head * kv_head_layout(group, config).head_bytes;
}

Result<std::unique_ptr<KvSlabs>> KvSlabs::create(std::span<const KvGroup> groups,
                                                 const KvConfig& config) {
  LLMRT_ASSERT(is_block_tokens(config.block_tokens));
  if (config.n_blocks <= kFirstBlock)
    return error(Code::invalid_argument, "the KV cache has %u blocks; at least %u are needed",
                 config.n_blocks, kFirstBlock + 1);
  std::unique_ptr<KvSlabs> kv(new KvSlabs);
  kv->config_ = config;
  kv->groups_.assign(groups.begin(), groups.end());
  for (const KvGroup& g : groups) {
    kv->layouts_.push_back(kv_head_layout(g, config));
    kv->block_bytes_ = std::max<size_t>(kv->block_bytes_, block_bytes(g, config));
  }
  kv->slabs_.resize((config.n_blocks + kSlabBlocks - 1) / kSlabBlocks);
  kv->committed_.resize(kv->slabs_.size(), 0);
  LLMRT_TRY(kv->commit(kZeroBlock));
  LLMRT_TRY(kv->commit(kTrashBlock));
  std::memset(kv->slabs_[0].data(), 0, kv->block_bytes_ * kFirstBlock);
  return kv;
}

Status KvSlabs::commit(BlockId block) {
  if (block >= config_.n_blocks)
    return error(Code::internal, "KV block %u is beyond the %u blocks of the cache", block,
                 config_.n_blocks);
  const uint32_t s = block / kSlabBlocks;
  if (!slabs_[s]) {
    const size_t size = kSlabBlocks * block_bytes_;
    slabs_[s] = Buffer::make(size);
    if (!slabs_[s]) return error(Code::out_of_memory, "no memory for a KV slab of %zu bytes", size);
    ++n_slabs_;
  }
  committed_[s] |= uint64_t{1} << (block % kSlabBlocks);
  return Status();
}

void KvSlabs::release(std::span<const BlockId> free_blocks) {
  for (BlockId b : free_blocks)
    if (b >= kFirstBlock && b < config_.n_blocks)
      committed_[b / kSlabBlocks] &= ~(uint64_t{1} << (b % kSlabBlocks));
  for (size_t s = 1; s < slabs_.size(); ++s)  // slab 0 holds the reserved blocks
    if (slabs_[s] && committed_[s] == 0) {
      slabs_[s].reset();
      --n_slabs_;
    }
}

Status KvSlabs::copy(BlockId from, BlockId to) {
  LLMRT_TRY(commit(to));
  std::memcpy(head(to, 0, 0, 0), head(from, 0, 0, 0), block_bytes_);
  return Status();
}

}  // namespace llmrt::cpu
