#include "kv/kv_layout.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "kv_fuzz.h"

using namespace llmrt;
using namespace llmrt::test;

TEST_CASE("kv_layout: live_from is the first entry a row at the next position can see") {
  for (uint32_t window : {0u, 1u, 2u, 16u, 17u, 33u, 100u}) {
    const KvLayout layout = test_layout({window}, 16, 10);
    for (uint32_t n = 0; n < 300; ++n) {
      uint32_t lowest = 0;  // lowest position the row at n sees
      while (window != 0 && lowest + window <= n) ++lowest;
      CHECK(layout.live_from(0, n) == lowest / 16);
    }
  }
}

TEST_CASE(
    "kv_layout: worst_blocks bounds what a sliding sequence holds at every length and chunk size") {
  for (uint32_t window : {1u, 5u, 16u, 20u, 48u}) {
    const KvLayout layout = test_layout({window}, 16, 100);
    for (uint32_t chunk : {1u, 3u, 16u, 40u}) {
      uint64_t most = 0;
      for (uint32_t n = 0; n + chunk <= 400; ++n)
        most = std::max<uint64_t>(most, layout.blocks_for(n + chunk) - layout.live_from(0, n));
      CHECK(most <= layout.worst_blocks(400, chunk));
      CHECK(layout.worst_blocks(400, chunk) <= most + 1);
    }
  }
}

TEST_CASE("kv_layout: longest_sequence is the longest that fits the pool") {
  const KvLayout layout = test_layout({0, 20}, 16, 2 + 10);
  const uint32_t n = layout.longest_sequence(100000);
  CHECK(layout.worst_blocks(n, 1) <= 10);
  CHECK(layout.worst_blocks(n + 1, 1) > 10);
  CHECK(layout.longest_sequence(7) == 7);
}

TEST_CASE("kv_layout: a bad layout is refused with the numbers") {
  KvGroup group;
  const uint64_t bytes[2] = {64, 96};
  KvConfig config;
  config.n_blocks = 10;
  const KvGroup two[2] = {group, group};
  CHECK(make_kv_layout(two, config, bytes).status().message() ==
        "KV group 1 has 96 bytes per block, group 0 has 64: all groups must be equal");
  config.n_blocks = 2;
  CHECK(make_kv_layout({two, 1}, config, {bytes, 1}).status().code() == Code::memory_budget);
}
