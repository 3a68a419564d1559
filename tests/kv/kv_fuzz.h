// Model-based test of kv/: random operations on sequences that share one pool and one tree, against a naive map of what each position
// must hold. Content of a position is a function of the namespace, the group and all tokens up to it, so any wrong block shows.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kv/kv_check.h"

namespace llmrt::test {

// Bytes of the fake device: one number per position of a block.
class FakeStore final : public KvStore {
 public:
  FakeStore(uint32_t n_blocks, uint32_t block_tokens)
      : rows(n_blocks, std::vector<uint64_t>(block_tokens, 0)), committed(n_blocks, false) {}
  Status commit(BlockId block) override {
    if (fail_commits > 0) {
      --fail_commits;
      return Status(Code::out_of_memory);
    }
    committed[block] = true;
    return {};
  }
  Status copy(BlockId from, BlockId to) override {
    if (fail_copies > 0) {
      --fail_copies;
      return Status(Code::device);
    }
    ++n_copies;
    rows[to] = rows[from];
    return {};
  }
  void release(std::span<const BlockId> blocks) override {
    for (BlockId b : blocks) {
      committed[b] = false;
      rows[b].assign(rows[b].size(), 0xdead);
    }
  }
  std::vector<std::vector<uint64_t>> rows;
  std::vector<bool> committed;
  uint32_t fail_commits = 0, fail_copies = 0;
  uint64_t n_copies = 0;
};

struct KvFuzzCounters {
  uint64_t hits = 0, forks = 0, copies = 0, truncations = 0, slides = 0, evictions = 0,
           failed_reserves = 0, trims = 0, swaps = 0, steps = 0;
};

// Runs `steps` operations; empty: nothing wrong, else what was found.
std::string run_kv_fuzz(uint64_t seed, uint32_t steps, KvFuzzCounters& counters);

inline KvLayout test_layout(std::vector<uint32_t> windows, uint32_t block_tokens,
                            uint32_t n_blocks) {
  KvLayout layout;
  for (uint32_t w : windows) {
    KvGroup group;
    group.kind = w == 0 ? AttnKind::full : AttnKind::window;
    group.window = w;
    layout.groups.push_back(group);
  }
  layout.block_tokens = block_tokens;
  layout.n_blocks = n_blocks;
  layout.block_bytes = 1;
  return layout;
}

}  // namespace llmrt::test
