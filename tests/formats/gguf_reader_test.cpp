#include "formats/gguf_reader.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace llmrt;

namespace {

// Counts reads, and fails past a byte.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(uint64_t size, uint64_t fails_at = UINT64_MAX)
      : size_(size), fails_at_(fails_at) {}
  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    ++n_reads;
    if (offset + n > fails_at_) return error(Code::io, "bad sector");
    for (uint64_t i = 0; i < n; ++i) static_cast<uint8_t*>(dst)[i] = byte_at(offset + i);
    return {};
  }
  static uint8_t byte_at(uint64_t i) { return static_cast<uint8_t>(i * 131 % 251); }
  mutable int n_reads = 0;

 private:
  uint64_t size_, fails_at_;
  std::string name_ = "counting";
};

}  // namespace

TEST_CASE("gguf reader: pieces of every size come out in order, with one read per window") {
  const CountingSource source(1000003);
  GgufReader reader(source);
  uint64_t at = 0;
  const std::vector<uint64_t> sizes = {1, 8, 0, 3, 65537, 300000, 7};
  for (size_t k = 0; reader.remaining() > 0; ++k) {
    const uint64_t n = std::min(sizes[k % sizes.size()], reader.remaining());
    std::vector<uint8_t> piece(n);
    REQUIRE(reader.read(piece.data(), n).ok());
    for (uint64_t i = 0; i < n; ++i) REQUIRE(piece[i] == CountingSource::byte_at(at + i));
    at += n;
    REQUIRE(reader.position() == at);
  }
  CHECK(at == 1000003);
  CHECK(source.n_reads == 4);  // windows of 256 KiB
}

TEST_CASE("gguf reader: a failing source is reported, not read past") {
  const CountingSource source(1000000, 500000);
  GgufReader reader(source);
  std::vector<uint8_t> bytes(600000);
  CHECK(reader.read(bytes.data(), bytes.size()).message() == "bad sector");
}
