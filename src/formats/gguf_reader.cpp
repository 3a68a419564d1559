#include "formats/gguf_reader.h"

#include <algorithm>

#include "base/check.h"

namespace llmrt {
namespace {
constexpr uint64_t kWindowBytes = uint64_t{256} << 10;
}

GgufReader::GgufReader(const ByteSource& source) : source_(source), size_(source.size()) {
  window_.reserve(std::min(size_, kWindowBytes));
}

Status GgufReader::read_slow(void* dst, uint64_t n) {
  LLMRT_ASSERT(n <= remaining());
  auto* out = static_cast<uint8_t*>(dst);
  while (n > 0) {
    if (at_ == window_.size()) {
      window_offset_ += at_;
      at_ = 0;
      window_.clear();
      const uint64_t ahead = std::min(size_ - window_offset_, kWindowBytes);
      window_.resize(ahead);
      Status status = source_.read(window_offset_, window_.data(), ahead);
      if (!status.ok()) {
        window_.clear();
        return status;
      }
    }
    const uint64_t take = std::min(n, window_.size() - at_);
    std::memcpy(out, window_.data() + at_, take);
    out += take;
    at_ += take;
    n -= take;
  }
  return {};
}

}  // namespace llmrt
