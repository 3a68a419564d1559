// The allocator behind the table when the host gives none.
#pragma once

#include <cstddef>

namespace llmrt {

void* default_alloc(void* user, size_t size, size_t align);
void default_dealloc(void* user, void* p, size_t size, size_t align);

}  // namespace llmrt
