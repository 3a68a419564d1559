// planted_faults: kv and engine are compiled into this program with faults that can be switched on (base/plant.h). Each must be found by
// the random schedules of the kv or the engine test within 10000 of them. A child process runs each, so a crash or a hang counts as found.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "../kv/kv_fuzz.h"
#include "base/plant.h"
#include "toy_fuzz.h"

namespace llmrt::plant {
Fault active = none;
}

namespace {

using namespace llmrt;

constexpr const char* kNames[plant::count] = {"none",
                                              "truncate_one_more",
                                              "no_copy_on_write",
                                              "window_one_short",
                                              "stale_table_row",
                                              "freed_too_early",
                                              "match_one_token_short",
                                              "fork_unshared_tail",
                                              "preempt_loses_token",
                                              "evict_in_use",
                                              "chunk_repeats_row",
                                              "dropped_pass_committed",
                                              "match_ignores_window",
                                              "wrong_write_slot",
                                              "fork_same_seed"};
constexpr unsigned kSecondsEach = 120;

// Runs in the child: 0 not found, 1 found and printed.
int search(plant::Fault fault, uint64_t most) {
  plant::active = fault;
  test::KvFuzzCounters counters;
  test::FuzzTotals totals;
  for (uint64_t i = 1; i <= most; ++i) {
    std::string bad = test::run_kv_fuzz(i, 80, counters);
    const char* where = "kv";
    if (bad.empty()) {
      bad = test::run_toy_schedule(i, totals, fault == plant::wrong_write_slot);
      where = "engine";
    }
    if (bad.empty()) continue;
    std::printf("%-24s found by %s schedule %llu: %s\n", kNames[fault], where,
                static_cast<unsigned long long>(i), bad.c_str());
    std::fflush(stdout);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t most = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10000;
  // without a fault nothing may be found: else the rest says nothing
  if (search(plant::none, 20) != 0) return 1;
  int missed = 0;
  for (int f = 1; f < plant::count; ++f) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kSecondsEach);
      const int found = search(static_cast<plant::Fault>(f), most);
      _exit(found ? 10 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM)
      std::printf("%-24s found: the process died of signal %d\n", kNames[f], WTERMSIG(status));
    else if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) {
      std::printf("%-24s NOT FOUND\n", kNames[f]);
      ++missed;
    }
  }
  std::printf("%d of %d faults were found\n", plant::count - 1 - missed, plant::count - 1);
  return missed == 0 ? 0 : 1;
}
