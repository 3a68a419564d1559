// Waiting for what another thread changes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/clock.h"

namespace llmrt {

// Once; may return for nothing, so whoever waits looks again.
inline void wait_until(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                       Deadline deadline) {
  if (deadline.at_ns == INT64_MAX) {
    changed.wait(lock);
    return;
  }
  const int64_t now = now_ns();
  if (deadline.at_ns > now) changed.wait_for(lock, std::chrono::nanoseconds(deadline.at_ns - now));
}

}  // namespace llmrt
