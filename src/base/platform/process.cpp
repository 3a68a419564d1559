#include "base/platform/process.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace llmrt::platform {

void* map_pages(size_t size) {
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}

void unmap_pages(void* p, size_t size) { munmap(p, size); }

void advise_huge_pages(void* p, size_t size) { (void)madvise(p, size, MADV_HUGEPAGE); }

void expect_reads(const void* p, size_t size) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const size_t into_page = reinterpret_cast<uintptr_t>(p) % page;
  auto* const begin = const_cast<char*>(static_cast<const char*>(p)) - into_page;
  (void)madvise(begin, into_page + size, MADV_WILLNEED);
}

void run_in_forked_child(void (*function)()) { pthread_atfork(nullptr, nullptr, function); }

bool write_standard_error(const char* text, size_t n) { return write(STDERR_FILENO, text, n) >= 0; }

}  // namespace llmrt::platform
