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

// A thread with all signals blocked and a stack of 512 KiB. entry runs once; join() waits for it.
struct Thread {
  uint64_t handle = 0;
  bool running = false;
};
Status start_thread(Thread& thread, const ThreadOptions& options, void (*entry)(void*),
                    void* argument);
void join_thread(Thread& thread);

// Sleeps while word == expected; may wake for nothing.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected);
void futex_wake_all(std::atomic<uint32_t>& word);

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}
void yield_cpu();

}  // namespace llmrt::platform
