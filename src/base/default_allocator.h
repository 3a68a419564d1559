// The allocator behind the table when the host gives none, and what the system can be told about large runs.
#pragma once

#include <cstddef>

namespace llmrt {

void* default_alloc(void* user, size_t size, size_t align);
void default_dealloc(void* user, void* p, size_t size, size_t align);

// Asks for 2 MiB pages behind [p, p + size); p is 2 MiB aligned. Best effort.
void advise_huge_pages(void* p, size_t size);

}  // namespace llmrt
