#include "base/memory.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/default_allocator.h"
#include "base/platform/process.h"

namespace llmrt {
namespace {

// The allocator of the process: fixed by its first use, because what one table gave another cannot take back. constinit, no destructor.
constinit AllocatorTable table;
constinit std::atomic<int> state{0};  // 0 open, 1 being set, 2 fixed
constinit std::atomic<int64_t> in_use{0};

const AllocatorTable& fixed_table() {
  if (state.load(std::memory_order_acquire) != 2) {
    int open = 0;
    if (state.compare_exchange_strong(open, 1, std::memory_order_acq_rel)) {
      table = {default_alloc, default_dealloc, nullptr};
      state.store(2, std::memory_order_release);
    } else {
      while (state.load(std::memory_order_acquire) != 2) {
      }
    }
  }
  return table;
}

constexpr size_t kHugePage = size_t{2} << 20;

// Of a Buffer: pages of 2 MiB lie at multiples of it.
size_t align_of(size_t size) { return size >= kHugePage ? kHugePage : 64; }

}  // namespace

bool set_allocator(const AllocatorTable& wanted) {
  int open = 0;
  if (!state.compare_exchange_strong(open, 1, std::memory_order_acq_rel)) return false;
  table = wanted;
  state.store(2, std::memory_order_release);
  return true;
}

void* allocate(size_t size, size_t align) noexcept {
  const AllocatorTable& t = fixed_table();
  void* p = t.alloc(t.user, size, align);
  if (p) in_use.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  return p;
}

void deallocate(void* p, size_t size, size_t align) noexcept {
  if (!p) return;
  const AllocatorTable& t = fixed_table();
  in_use.fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
  t.dealloc(t.user, p, size, align);
}

int64_t allocated_bytes() { return in_use.load(std::memory_order_relaxed); }

Buffer Buffer::make(size_t size) noexcept {
  Buffer b;
  if (size == 0) return b;
  b.data_ = allocate(size, align_of(size));
  if (!b.data_) return b;
  b.size_ = size;
  if (size >= kHugePage) platform::advise_huge_pages(b.data_, size);
  return b;
}

void Buffer::fault_in(size_t n) {
  if (data_) std::memset(data_, 0, std::min(n, size_));
}

void Buffer::reset() {
  if (!data_) return;
  deallocate(data_, size_, align_of(size_));
  data_ = nullptr;
  size_ = 0;
}

}  // namespace llmrt
