// StackMark: the stack used since a place. What recurses over hostile input is bounded by it, beside a count of levels: how much a
// level takes depends on the compiler and on what the input makes of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

// Of the 256 KiB that a calling thread has at least; the rest is for the caller and for what does not recurse.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr size_t kMaxRecursionBytes = size_t{384} << 10;  // frames have red zones
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr size_t kMaxRecursionBytes = size_t{384} << 10;
#else
inline constexpr size_t kMaxRecursionBytes = size_t{96} << 10;
#endif
#else
inline constexpr size_t kMaxRecursionBytes = size_t{96} << 10;
#endif

class StackMark {
 public:
  StackMark() : begin_(here()) {}
  [[gnu::always_inline]] bool exhausted() const {
    const uintptr_t at = here();
    return (at < begin_ ? begin_ - at : at - begin_) > kMaxRecursionBytes;
  }

 private:
  // The frame's address: under sanitizers a local may lie elsewhere.
  [[gnu::always_inline]] static uintptr_t here() {
    return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  }

  uintptr_t begin_;
};

}  // namespace llmrt
