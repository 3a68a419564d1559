// Memory: every byte the library takes comes through one process-wide function table, set by api/ before first use.
// The hidden operator new/delete (operator_new.cpp) call it too, so a host's allocator hook sees everything.
// Failure is nullptr from allocate() and std::bad_alloc from operator new; api/guard.h turns the latter into OUT_OF_MEMORY.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace llmrt {

struct AllocatorTable {
  void* (*alloc)(void* user, size_t size, size_t align) = nullptr;
  void (*dealloc)(void* user, void* p, size_t size, size_t align) = nullptr;
  void* user = nullptr;
};

// False if memory was already taken through another table (the table is fixed by its first use).
bool set_allocator(const AllocatorTable& table);

void* allocate(size_t size, size_t align) noexcept;  // nullptr on failure
void deallocate(void* p, size_t size, size_t align) noexcept;
int64_t allocated_bytes();  // now in use through the table: leak tests and metrics

// An owned run of bytes, 64-byte aligned, not zeroed. Runs of at least 2 MiB begin at a multiple of 2 MiB
// and ask for pages of that size.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { reset(); }
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // data() == nullptr on failure (size 0 also gives nullptr)
  static Buffer make(size_t size) noexcept;
  void reset();
  // Has the first n bytes backed by pages now (contents become 0), so that nobody waits for the system later: clearing a 2 MiB
  // page takes 0.4 ms.
  void fault_in(size_t n);
  uint8_t* data() { return static_cast<uint8_t*>(data_); }
  const uint8_t* data() const { return static_cast<const uint8_t*>(data_); }
  template <class T>
  T* as() {
    return static_cast<T*>(data_);
  }
  size_t size() const { return size_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace llmrt
