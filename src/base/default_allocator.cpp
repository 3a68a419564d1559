#include "base/default_allocator.h"

#include <cstdlib>

#include "base/platform/process.h"

#if LLMRT_WITH_MIMALLOC
#include <mimalloc.h>
#endif

namespace llmrt {
namespace {

// Weights, KV slabs and arenas come straight from the kernel: returned whole when freed, never kept by a heap.
constexpr size_t kMapped = size_t{128} << 10;

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

#if LLMRT_WITH_MIMALLOC
void* small_alloc(size_t size, size_t align) { return mi_malloc_aligned(size, align); }
void small_free(void* p) { mi_free(p); }
#else
void* small_alloc(size_t size, size_t align) {
  if (align <= alignof(std::max_align_t)) return std::malloc(size ? size : 1);
  return std::aligned_alloc(align, round_up(size ? size : 1, align));
}
void small_free(void* p) { std::free(p); }
#endif

}  // namespace

void* default_alloc(void*, size_t size, size_t align) {
  if (size >= kMapped) {
    const size_t length = round_up(size, 4096);
    const size_t padded = length + (align > 4096 ? align : 0);
    if (padded < size) return nullptr;
    void* raw = platform::map_pages(padded);
    if (!raw || align <= 4096) return raw;
    char* base = static_cast<char*>(raw);
    const size_t address = reinterpret_cast<size_t>(raw);
    const size_t head = round_up(address, align) - address;
    if (head) platform::unmap_pages(base, head);
    const size_t tail = padded - head - length;
    if (tail) platform::unmap_pages(base + head + length, tail);
    return base + head;
  }
  return small_alloc(size, align);
}

void default_dealloc(void*, void* p, size_t size, size_t) {
  if (size >= kMapped)
    platform::unmap_pages(p, round_up(size, 4096));
  else
    small_free(p);
}

}  // namespace llmrt
