// An allocator that fails when it is told to, for a test program of its own: its table is set before anything is taken.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "base/memory.h"

namespace llmrt::test {

inline constexpr int64_t kForEver = INT64_MAX;

struct FailingMemory {
  std::atomic<int64_t> n_asked{0};  // since fail(), by threads that are not exempt
  std::atomic<int64_t> from{kForEver}, to{kForEver};
  std::atomic<int64_t> each{1};  // of those, one in so many fails

  void fail(int64_t first, int64_t count, int64_t one_of = 1) {
    n_asked = 0;
    each = one_of;
    from = first;
    to = count == kForEver ? kForEver : first + count;
  }
  bool has_failed() const { return n_asked > from; }
  void be_back() { to = n_asked.load(); }
  bool fails_now() {
    const int64_t n = n_asked.fetch_add(1);
    return n >= from && n < to && (n - from) % each == 0;
  }
};
inline FailingMemory failing_memory;
// The thread of main() is, but for without_exemption(); threads of the library are not.
inline thread_local bool exempt = false;

// What f() takes may fail.
template <class F>
auto without_exemption(F&& f) {
  exempt = false;
  const auto result = f();
  exempt = true;
  return result;
}

namespace detail {
inline void* take_block(void*, size_t size, size_t align) {
  if (!exempt && failing_memory.fails_now()) return nullptr;
  void* p = nullptr;
  return posix_memalign(&p, std::max(align, sizeof(void*)), size) == 0 ? p : nullptr;
}
inline void give_block(void*, void* p, size_t, size_t) { std::free(p); }
}  // namespace detail

inline void use_failing_memory() {
  exempt = true;
  set_allocator({detail::take_block, detail::give_block, nullptr});
}

}  // namespace llmrt::test
