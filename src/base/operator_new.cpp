// Hidden operator new/delete: every allocation of the library and of the libstdc++ linked into it goes through the allocator table.
// The size stands in front of the block, because plain operator delete does not tell it.
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/memory.h"

namespace {

constexpr size_t kHeader = 16;  // keeps 16-byte alignment of the block behind it

void* take(size_t size) noexcept {
  if (size > SIZE_MAX - kHeader) return nullptr;
  auto* p = static_cast<char*>(llmrt::allocate(size + kHeader, 16));
  if (!p) return nullptr;
  *reinterpret_cast<size_t*>(p) = size + kHeader;
  return p + kHeader;
}

void give(void* p) noexcept {
  if (!p) return;
  char* head = static_cast<char*>(p) - kHeader;
  llmrt::deallocate(head, *reinterpret_cast<size_t*>(head), 16);
}

// Over-aligned blocks: the header takes one whole alignment unit, its last words hold size and unit.
void* take_aligned(size_t size, size_t align) noexcept {
  const size_t unit = align < 32 ? 32 : align;
  if (size > SIZE_MAX - unit) return nullptr;
  auto* p = static_cast<char*>(llmrt::allocate(size + unit, unit));
  if (!p) return nullptr;
  auto* words = reinterpret_cast<size_t*>(p + unit) - 2;
  words[0] = size + unit;
  words[1] = unit;
  return p + unit;
}

void give_aligned(void* p) noexcept {
  if (!p) return;
  const auto* words = reinterpret_cast<size_t*>(p) - 2;
  const size_t size = words[0], unit = words[1];
  llmrt::deallocate(static_cast<char*>(p) - unit, size, unit);
}

void* or_throw(void* p) {
  if (!p) throw std::bad_alloc();
  return p;
}

}  // namespace

// clang-format off
void* operator new(size_t n) { return or_throw(take(n)); }
void* operator new[](size_t n) { return or_throw(take(n)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return take(n); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return take(n); }
void* operator new(size_t n, std::align_val_t a) { return or_throw(take_aligned(n, static_cast<size_t>(a))); }
void* operator new[](size_t n, std::align_val_t a) { return or_throw(take_aligned(n, static_cast<size_t>(a))); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return take_aligned(n, static_cast<size_t>(a)); }
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return take_aligned(n, static_cast<size_t>(a)); }
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, size_t) noexcept { give(p); }
void operator delete[](void* p, size_t) noexcept { give(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give_aligned(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give_aligned(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { give_aligned(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { give_aligned(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_aligned(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { give_aligned(p); }
// clang-format on
