// What the operating system tells about this machine, and about how much of it this process may use. All is read anew at each call.
#pragma once

#include <cstdint>

namespace llmrt::platform {

uint32_t configured_cpus();  // of the machine; 0: not known
// worker_count() (cpus.h) of the CPUs that the calling thread and cpu_mask (bit i: CPU i; 0: all) allow, with the control group's
// quota. hardware_concurrency() knows nothing of cores and quotas.
uint32_t automatic_workers(uint64_t cpu_mask);

// Bytes, -1: not known.
//   total    all there is, whoever has it
//   free     what this process can still take: available, and below its limit
//   budget   what it may have in all: its limit (of the cgroup), at most total
struct MemoryFigures {
  int64_t total = -1, free = -1, budget = -1;
};
MemoryFigures memory_figures();  // of the machine

uint64_t hardware_capabilities();  // AArch64: the bits of AT_HWCAP; elsewhere 0

}  // namespace llmrt::platform
