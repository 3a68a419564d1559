#include "kv/kv_layout.h"

#include <algorithm>

#include "base/check.h"
#include "base/plant.h"

namespace llmrt {

uint32_t KvLayout::live_from(uint32_t g, uint32_t computed) const {
  const KvGroup& group = groups[g];
  if (group.kind == AttnKind::full) return 0;
  const uint32_t window =
      LLMRT_PLANT(window_one_short, group.window, std::max(group.window, 2u) - 1);
  if (computed < window) return 0;
  return (computed - window + 1) / block_tokens;
}

uint64_t KvLayout::worst_blocks(uint32_t n_tokens, uint32_t chunk) const {
  const uint64_t all = blocks_for(n_tokens);
  uint64_t sum = 0;
  for (const KvGroup& group : groups) {
    if (group.kind == AttnKind::full) {
      sum += all;
      continue;
    }
    // window - 1 positions before the first row of the chunk, and the chunk; one more block because neither end is on an edge
    const uint64_t span = uint64_t{group.window} - 1 + chunk;
    sum += std::min(all, (span + block_tokens - 1) / block_tokens + 1);
  }
  return sum;
}

uint32_t KvLayout::longest_sequence(uint32_t limit) const {
  uint32_t low = 0, high = limit;  // worst_blocks grows with n: the answer is in [low, high]
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    if (worst_blocks(middle, 1) <= capacity())
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

Result<KvLayout> make_kv_layout(std::span<const KvGroup> groups, const KvConfig& config,
                                std::span<const uint64_t> block_bytes) {
  if (groups.empty() || groups.size() != block_bytes.size())
    return error(Code::internal, "the KV layout has %zu groups and %zu block sizes", groups.size(),
                 block_bytes.size());
  LLMRT_ASSERT(is_block_tokens(config.block_tokens));
  LLMRT_ASSERT(config.n_blocks <= kMostBlocks);
  if (config.n_blocks < kFirstBlock + groups.size())
    return error(Code::memory_budget, "the KV budget holds %u blocks, at least %zu are needed",
                 config.n_blocks, kFirstBlock + groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].kind == AttnKind::window && groups[g].window == 0)
      return error(Code::invalid_argument,
                   "KV group %zu has a window of 0 tokens, at least 1 is needed", g);
    if (block_bytes[g] == 0 || block_bytes[g] != block_bytes[0])
      return error(
          Code::internal,
          "KV group %zu has %llu bytes per block, group 0 has %llu: all groups must be equal", g,
          static_cast<unsigned long long>(block_bytes[g]),
          static_cast<unsigned long long>(block_bytes[0]));
  }
  KvLayout layout;
  layout.groups.assign(groups.begin(), groups.end());
  layout.block_tokens = config.block_tokens;
  layout.n_blocks = config.n_blocks;
  layout.block_bytes = block_bytes[0];
  return layout;
}

}  // namespace llmrt
