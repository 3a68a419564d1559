// One thread pool per runtime. Work is a list of chunks claimed by one atomic add, so a descheduled worker costs at most
// one chunk; idle workers spin briefly, then yield, then sleep on a futex. The caller is worker 0 for the length of the call.
//
//   run() executes body(chunk, worker) for chunks begin, begin + 1, ... < end, each exactly once, and returns the first chunk
//   not executed: `end`, or less if the deadline passed (no chunk is claimed after it; at least one chunk always runs).
//   Every chunk below the returned index has finished.  Chunks are claimed in ascending order.
//
// run() may be called from any thread; the pool serves one run() at a time, in order of arrival. body must not throw, allocate
// or call run(). Workers block all signals and set MXCSR/FPCR to one value (nearest, FTZ+DAZ, exceptions masked).
// With n_workers == 1 no thread of ours exists.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/float_control.h"
#include "base/function_ref.h"
#include "base/status.h"

namespace llmrt {

struct ThreadPoolOptions {
  uint32_t n_workers = 0;  // 0: automatic_workers() of base/platform/machine.h
  uint64_t cpu_mask = 0;   // of members; bit i: CPU i, 0: all allowed
  int32_t priority = 0;    // of members: added to the nice level that the thread began with
  void (*thread_hook)(void* user, int32_t index, int32_t starting) = nullptr;
  void* user = nullptr;
};

class ThreadPool {
  struct Impl;

 public:
  using Body = FunctionRef<void(uint32_t chunk, uint32_t worker)>;

  // A thread that computes: a worker, or one of ours that calls run(). While this lives the thread has the pool's CPU mask and priority
  // (best effort). Made and destroyed on that thread, within the pool's life. A host's thread that calls run() is none: it stays as
  // it is.
  class Member {
   public:
    explicit Member(ThreadPool& pool) : Member(*pool.impl_) {}
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

   private:
    friend class ThreadPool;
    explicit Member(Impl& impl);
    int32_t set_priority(int32_t priority) const;  // 0, or errno
    Impl& impl_;
    const int32_t thread_id_, inherited_level_;
    Member *next_ = nullptr, *previous_ = nullptr;
  };

  static Result<std::unique_ptr<ThreadPool>> create(const ThreadPoolOptions& options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  uint32_t n_workers() const;
  // Between runs; waits for the current one. After a failure the workers are as many as before.
  Status resize(uint32_t n_workers);
  // Of all members, now and later. Raising the number works, lowering it may be unsupported: it takes a right.
  Status set_priority(int32_t priority);
  uint32_t run(uint32_t begin, uint32_t end, Body body, Deadline deadline = Deadline::never());

 private:
  explicit ThreadPool(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace llmrt
