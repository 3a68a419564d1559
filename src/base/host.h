// Host: what one llmrt_runtime gives the rest of the library: log sink and thread pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "base/thread_pool.h"

namespace llmrt {

enum class LogLevel : int32_t { off = 0, error = 1, warn = 2, info = 3, debug = 4 };

struct LogSink {
  LogLevel level = LogLevel::warn;
  void (*write)(void* user, int32_t level, const char* message) = nullptr;  // any thread
  void* user = nullptr;
};

class Host {
 public:
  Host(LogSink sink, std::unique_ptr<ThreadPool> pool);
  ThreadPool& pool() const { return *pool_; }
  bool logs(LogLevel level) const { return sink_.write && level <= sink_.level; }
  void log(LogLevel level, const char* format, ...) const __attribute__((format(printf, 3, 4)));

 private:
  LogSink sink_;
  std::unique_ptr<ThreadPool> pool_;
};

// Progress of long work (load, quantize, ...), polled by another thread; the work looks at cancel at least every 50 ms.
struct JobProgress {
  std::atomic<int64_t> done{0};
  std::atomic<int64_t> total{0};
  std::atomic<const char*> stage{""};  // static strings only
  std::atomic<bool> cancel{false};
  // The time is up and the result is there: what would only be good for later work is left out, and the work ends well.
  std::atomic<bool> no_time{false};
};
// nullptr: nobody can cancel the work.
inline bool is_cancelled(const JobProgress* progress) {
  return progress && progress->cancel.load(std::memory_order_relaxed);
}
// What a cancelled load ends with; of: a file or a tensor.
Status loading_cancelled(const char* of);
// That once the load is cancelled: looked at between two pieces of work.
inline Status check_cancel(const JobProgress* progress, const char* of) {
  return is_cancelled(progress) ? loading_cancelled(of) : Status();
}

}  // namespace llmrt
