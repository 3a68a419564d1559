// CPUs by number, and how many workers are worth having on them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/function_ref.h"

namespace llmrt::platform {

// Those from 1024 on are never in it.
struct CpuSet {
  uint64_t bits[16] = {};
  void add(int32_t cpu) {
    if (cpu >= 0 && cpu < 1024) bits[cpu / 64] |= uint64_t{1} << (cpu % 64);
  }
  bool has(int32_t cpu) const {
    return cpu >= 0 && cpu < 1024 && ((bits[cpu / 64] >> (cpu % 64)) & 1u);
  }
};

// The lists of /sys: "0-1", "3,7-9\n". Ends where it is no list any more.
CpuSet parse_cpu_list(std::string_view text);

// One for each core with an allowed CPU: two hardware threads of one core add nothing to dense arithmetic. At most what the quota
// pays for (in CPUs, rounded up; 0: no quota), at least 1.
//   siblings(cpu)   the CPUs of its core; without `cpu` (empty: not known): a core of its own
uint32_t worker_count(const CpuSet& allowed, FunctionRef<CpuSet(int32_t cpu)> siblings,
                      double quota_cpus);

}  // namespace llmrt::platform
