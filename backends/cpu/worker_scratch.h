// Scratch memory of the pool's workers, one slot each. The pool may grow while work is under way: workers beyond the slots share the
// last one, one at a time, until whoever owns the scratch makes it larger.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/memory.h"
#include "base/platform/thread.h"

namespace llmrt::cpu {

inline size_t whole_lines(size_t n) { return (n + 63) / 64 * 64; }

class WorkerScratch {
 public:
  // Slots of at least slot_bytes, whole lines. False: no memory; what was there stays.
  bool reserve(uint32_t n_workers, size_t slot_bytes) {
    if (buffer_ && n_workers <= n_ && slot_bytes <= slot_bytes_) return true;
    Buffer more = Buffer::make(bytes_for(n_workers, slot_bytes));
    if (!more) return false;
    more.fault_in(more.size());
    buffer_ = std::move(more);
    n_ = n_workers;
    slot_bytes_ = slot_bytes;
    return true;
  }
  void give_back() {
    buffer_.reset();
    n_ = 0;
    slot_bytes_ = 0;
  }
  static size_t bytes_for(uint32_t n_workers, size_t slot_bytes) {
    return (size_t{n_workers} + 1) * slot_bytes;
  }

  // body(slot) with worker's slot.
  template <class Body>
  void with(uint32_t worker, Body&& body) {
    if (worker < n_) {
      body(buffer_.data() + worker * slot_bytes_);
      return;
    }
    while (shared_taken_.exchange(true, std::memory_order_acquire)) platform::yield_cpu();
    body(buffer_.data() + n_ * slot_bytes_);
    shared_taken_.store(false, std::memory_order_release);
  }

 private:
  Buffer buffer_;
  uint32_t n_ = 0;
  size_t slot_bytes_ = 0;
  std::atomic<bool> shared_taken_{false};
};

}  // namespace llmrt::cpu
