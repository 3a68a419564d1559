#include "base/platform/machine.h"

#include <doctest/doctest.h>

using namespace llmrt;

TEST_CASE("machine: there is a CPU for a worker, and not more of them than the machine has") {
  REQUIRE(platform::configured_cpus() >= 1);
  CHECK(platform::allowed_cpus() >= 1);
  CHECK(platform::allowed_cpus() <= platform::configured_cpus());
}

TEST_CASE("machine: what is free is within the budget, and that within the machine") {
  const platform::MemoryFigures memory = platform::memory_figures();
  CHECK(memory.free > 0);
  CHECK(memory.budget >= memory.free);
  CHECK(memory.total >= memory.budget);
}
