// A forward reader over a ByteSource through one fixed window: many small reads cost one pread per window.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/status.h"
#include "formats/byte_source.h"

namespace llmrt {

// 0 <= position() <= source.size(). Callers compare remaining() with what they want before they read or allocate.
class GgufReader {
 public:
  explicit GgufReader(const ByteSource& source);

  uint64_t position() const { return window_offset_ + at_; }
  uint64_t remaining() const { return size_ - position(); }

  // n <= remaining(). Failure: of the source.
  Status read(void* dst, uint64_t n) {
    if (n > window_.size() - at_) return read_slow(dst, n);
    if (n > 0) std::memcpy(dst, window_.data() + at_, n);
    at_ += n;
    return {};
  }

 private:
  Status read_slow(void* dst, uint64_t n);

  const ByteSource& source_;
  uint64_t size_;
  uint64_t window_offset_ = 0;   // where in the source window_[0] lies
  std::vector<uint8_t> window_;  // bytes read ahead
  uint64_t at_ = 0;              // next byte of the window
};

}  // namespace llmrt
