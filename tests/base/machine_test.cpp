#include "base/platform/machine.h"

#include <doctest/doctest.h>

using namespace llmrt;

TEST_CASE(
    "machine: there is a worker, and not more of them than the machine or the mask has CPUs") {
  REQUIRE(platform::configured_cpus() >= 1);
  CHECK(platform::automatic_workers(0) >= 1);
  CHECK(platform::automatic_workers(0) <= platform::configured_cpus());
  for (int cpu = 0; cpu < 64; ++cpu) CHECK(platform::automatic_workers(uint64_t{1} << cpu) == 1);
}

TEST_CASE("machine: what is free is within the budget, and that within the machine") {
  const platform::MemoryFigures memory = platform::memory_figures();
  CHECK(memory.free > 0);
  CHECK(memory.budget >= memory.free);
  CHECK(memory.total >= memory.budget);
}
