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

// AArch64: the bits of AT_HWCAP and AT_HWCAP2; elsewhere 0.
struct HardwareCapabilities {
  uint64_t first = 0, second = 0;
};
HardwareCapabilities hardware_capabilities();

// x86-64: asks the system to let this process use AMX's tile registers, in all its threads and for its life. False: it refuses (an
// older kernel, a virtual machine, a container), or the processor has none.
bool request_tiles();

}  // namespace llmrt::platform
