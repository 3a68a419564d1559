#include "base/platform/cpus.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace llmrt;
using platform::CpuSet;
using platform::parse_cpu_list;

namespace {

// siblings: by CPU, as /sys tells them; "" or beyond the end: no such file.
uint32_t workers(const char* allowed, const std::vector<std::string>& siblings, double quota = 0) {
  return platform::worker_count(
      parse_cpu_list(allowed),
      [&](int32_t cpu) {
        const auto i = static_cast<size_t>(cpu);
        return parse_cpu_list(i < siblings.size() ? siblings[i] : "");
      },
      quota);
}

int32_t count(const CpuSet& cpus) {
  int32_t n = 0;
  for (int32_t cpu = 0; cpu < 1024; ++cpu) n += cpus.has(cpu);
  return n;
}

}  // namespace

TEST_CASE("cpus: lists are read as the system writes them") {
  const CpuSet cpus = parse_cpu_list("3,7-9,70\n");
  CHECK(count(cpus) == 5);
  for (const int32_t cpu : {3, 7, 8, 9, 70}) CHECK(cpus.has(cpu));
  CHECK(count(parse_cpu_list("0-1\n")) == 2);
  CHECK(count(parse_cpu_list("5")) == 1);
  for (const char* none : {"", "\n", "x", "-1", "9-7", ",1", "2-"})
    CHECK_MESSAGE(count(parse_cpu_list(none)) == 0, none);
  CHECK(count(parse_cpu_list("1020-99999")) == 4);
  CHECK(count(parse_cpu_list("1,99999999999999999999")) == 1);
}

TEST_CASE("cpus: a core is worth one worker, whichever of its hardware threads are allowed") {
  const std::vector<std::string> single = {"0", "1", "2", "3"};
  const std::vector<std::string> adjacent = {"0-1", "0-1", "2-3", "2-3"};
  const std::vector<std::string> apart = {"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"};
  CHECK(workers("0-3", single) == 4);
  CHECK(workers("0-3", adjacent) == 2);
  CHECK(workers("1,2", adjacent) == 2);
  CHECK(workers("1,3", adjacent) == 2);
  CHECK(workers("2-3", adjacent) == 1);
  CHECK(workers("0-7", apart) == 4);
  CHECK(workers("4-7", apart) == 4);
  CHECK(workers("0,4", apart) == 1);
  CHECK(workers("3,4", apart) == 2);
}

TEST_CASE("cpus: without a readable topology each CPU is a core") {
  CHECK(workers("0-3", {}) == 4);
  CHECK(workers("1,5", {}) == 2);
  CHECK(workers("0-3", {"0-1", "", "2-3", "2-3"}) == 3);
  CHECK(workers("0-1", {"7", "7"}) == 2);  // says nothing of the CPU itself
  CHECK(workers("", {}) == 1);
}

TEST_CASE("cpus: a quota is rounded up, and limits only") {
  CHECK(workers("0-3", {}, 1.5) == 2);
  CHECK(workers("0-3", {}, 2.0) == 2);
  CHECK(workers("0-3", {}, 0.25) == 1);
  CHECK(workers("0-3", {}, 3.2) == 4);
  CHECK(workers("0-3", {}, 64) == 4);
  CHECK(workers("0-3", {}, 1e18) == 4);
  CHECK(workers("0-3", {"0-1", "0-1", "2-3", "2-3"}, 3) == 2);
}

TEST_CASE("cpus: more than 64 of them count too") {
  std::vector<std::string> siblings;
  for (int cpu = 0; cpu < 192; ++cpu)
    siblings.push_back(std::to_string(cpu % 96) + "," + std::to_string(cpu % 96 + 96));
  CHECK(workers("0-191", siblings) == 96);
  CHECK(workers("96-191", siblings) == 96);
  CHECK(workers("64-100", siblings) == 37);
  CHECK(workers("70,166", siblings) == 1);
  CHECK(workers("0-191", siblings, 80.5) == 81);
}
