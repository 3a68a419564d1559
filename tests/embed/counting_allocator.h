// An allocator for llmrt_runtime_options that counts, and fails when it is told to.
#pragma once

#include <llmrt.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace embed {

inline std::atomic<int64_t> n_allocations{0}, in_use{0},
    fail_at{-1};  // in_use: bytes; fail_at: which allocation, from 1 on

inline std::atomic<void (*)(int64_t n)> at_allocation{nullptr};  // called first, by any thread

inline void* counting_alloc(void*, size_t size, size_t align) {
  const int64_t n = n_allocations.fetch_add(1) + 1;
  if (auto* hook = at_allocation.load()) hook(n);
  if (n == fail_at.load()) return nullptr;
  const size_t unit = std::max<size_t>(align, 16);
  void* p = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  if (p) in_use.fetch_add(static_cast<int64_t>(size));
  return p;
}
inline void counting_dealloc(void*, void* p, size_t size, size_t) {
  in_use.fetch_sub(static_cast<int64_t>(size));
  std::free(p);
}

// The table is the process's: for its first runtime only.
inline void count_allocations(llmrt_runtime_options& o) {
  o.alloc = counting_alloc;
  o.dealloc = counting_dealloc;
}

}  // namespace embed
