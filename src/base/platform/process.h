// Pages of memory, fork and standard error.
#pragma once

#include <cstddef>

namespace llmrt::platform {

// Bytes straight from the kernel, at a page's border, all 0; nullptr: there are none. Any page of them may be given back alone.
void* map_pages(size_t size);
void unmap_pages(void* p, size_t size);
// Asks for 2 MiB pages behind [p, p + size); p is 2 MiB aligned. Best effort.
void advise_huge_pages(void* p, size_t size);

// These bytes of a mapped file will be read soon: the system begins to fetch them, and does not wait. Without this it fetches a page at a
// time once it has seen some hundred in no order that it knows, as when several threads read. Best effort.
void expect_reads(const void* p, size_t size);

// Has the child of every later fork() run this before anything else; it may only write atomics.
void run_in_forked_child(void (*function)());

// False: standard error takes nothing.
bool write_standard_error(const char* text, size_t n);

}  // namespace llmrt::platform
