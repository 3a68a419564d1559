// toy_fuzz [--seconds S] [--schedules N] [--seed FIRST]: random schedules until the time or the number is reached (default: 20 s).
// Prints one line of counters; exit 1 names the first schedule that went wrong, which --seed repeats, or, after kEnoughForAll of them,
// an event that never occurred: such a run says nothing about it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "toy_fuzz.h"

namespace {
constexpr int64_t kEnoughForAll = 1000;
}  // namespace

int main(int argc, char** argv) {
  double seconds = 20;
  uint64_t schedules = UINT64_MAX, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seconds")
      seconds = std::atof(argv[i + 1]);
    else if (name == "--schedules") {
      schedules = std::strtoull(argv[i + 1], nullptr, 10);
      seconds = 1e9;
    } else if (name == "--seed")
      seed = std::strtoull(argv[i + 1], nullptr, 10);
    else {
      std::fprintf(stderr,
                   "toy_fuzz: unknown option %s; known are --seconds, --schedules, --seed\n",
                   argv[i]);
      return 2;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  llmrt::test::FuzzTotals totals;
  for (uint64_t i = 0; i < schedules; ++i) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() >= seconds)
      break;
    const std::string bad = llmrt::test::run_toy_schedule(seed + i, totals);
    if (!bad.empty()) {
      std::printf("FAILED %s\n%s\n", bad.c_str(), summary(totals).c_str());
      return 1;
    }
  }
  std::printf("first_seed=%llu %s\n", static_cast<unsigned long long>(seed),
              summary(totals).c_str());
  const char* missing = totals.schedules >= kEnoughForAll ? missing_event(totals) : nullptr;
  if (missing)
    std::printf("FAILED not one %s in %lld schedules\n", missing,
                static_cast<long long>(totals.schedules));
  return missing ? 1 : 0;
}
