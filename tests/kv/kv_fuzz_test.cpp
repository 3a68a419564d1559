#include "kv_fuzz.h"

#include <doctest/doctest.h>

using namespace llmrt;
using namespace llmrt::test;

TEST_CASE("kv: random operations on shared blocks equal a naive map of positions") {
  KvFuzzCounters counters;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string bad = run_kv_fuzz(seed, 120, counters);
    REQUIRE_MESSAGE(bad.empty(), bad);
  }
  CHECK(counters.hits > 100);
  CHECK(counters.forks > 100);
  CHECK(counters.copies > 100);
  CHECK(counters.truncations > 100);
  CHECK(counters.slides > 100);
  CHECK(counters.evictions > 100);
  CHECK(counters.failed_reserves > 100);
  CHECK(counters.trims > 100);
}
