// The operating system's threads and futex, as the pool needs them. Implementations: posix.cpp. Where a thread is told by its id, 0 is
// the calling one.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/platform/cpus.h"
#include "base/status.h"

namespace llmrt::platform {

// A thread with all signals blocked and a stack of 512 KiB. entry runs once; join_thread waits for it, or lets it go on alone when it
// is the thread itself that asks.
struct Thread {
  uint64_t handle = 0;
  bool running = false;
};
Status start_thread(Thread& thread, const char* name,  // at most 15 characters are kept
                    void (*entry)(void*), void* argument);
void join_thread(Thread& thread);
void detach_thread(Thread& thread);

// Sleeps while word == expected; may wake for nothing.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected);
void futex_wake_all(std::atomic<uint32_t>& word);

int32_t current_cpu();  // -1: not known
int32_t current_thread_id();
// Moves a thread of ours off `taken`, to other CPUs that it may use, and tells where it was allowed before. False: there are none.
bool move_thread_off(int32_t thread_id, const CpuSet& taken, CpuSet& allowed_before);
CpuSet allowed_cpus(int32_t thread_id);  // empty: not known
void allow_cpus(int32_t thread_id, const CpuSet& cpus);

// Nice levels are -20 to 19; a higher one is a lower priority.
int32_t nice_level(int32_t thread_id);
// 0, or errno: raising works, lowering takes a right.
int32_t set_nice_level(int32_t thread_id, int32_t level);
int32_t least_nice_level();  // that this process may lower its threads to; 20: to none

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
void yield_cpu();

}  // namespace llmrt::platform
