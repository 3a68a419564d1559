// The operating system's threads and futex, as the pool needs them. Implementations: posix.cpp.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.h"

namespace llmrt::platform {

struct ThreadOptions {
  const char* name = "llmrt";  // at most 15 characters are kept
  uint64_t cpu_mask = 0;       // 0: inherited
  int32_t nice = 0;            // added to the inherited priority; best effort
};

// A thread with all signals blocked and a stack of 512 KiB. entry runs once; join_thread waits for it, or lets it go on alone when it
// is the thread itself that asks.
struct Thread {
  uint64_t handle = 0;
  bool running = false;
};
Status start_thread(Thread& thread, const ThreadOptions& options, void (*entry)(void*),
                    void* argument);
void join_thread(Thread& thread);
void detach_thread(Thread& thread);

// Sleeps while word == expected; may wake for nothing.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected);
void futex_wake_all(std::atomic<uint32_t>& word);

// CPUs by number; those from 1024 on are never in it.
struct CpuSet {
  uint64_t bits[16] = {};
  void add(int32_t cpu) {
    if (cpu >= 0 && cpu < 1024) bits[cpu / 64] |= uint64_t{1} << (cpu % 64);
  }
  bool has(int32_t cpu) const {
    return cpu >= 0 && cpu < 1024 && ((bits[cpu / 64] >> (cpu % 64)) & 1u);
  }
};
int32_t current_cpu();  // -1: not known
int32_t current_thread_id();
// Moves a thread of ours off `taken`, to other CPUs that it may use, and tells where it was allowed before. False: there are none.
bool move_thread_off(int32_t thread_id, const CpuSet& taken, CpuSet& allowed_before);
void allow_cpus(int32_t thread_id, const CpuSet& cpus);

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
void yield_cpu();

}  // namespace llmrt::platform
