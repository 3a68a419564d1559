// StringPool: strings back to back. StringIndex: bytes -> number over a pool, open addressing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llmrt {

class StringPool {
 public:
  StringPool() : begin_(1, 0) {}
  void reserve(size_t n_strings, size_t n_bytes) {
    begin_.reserve(n_strings + 1);
    bytes_.reserve(n_bytes);
  }
  size_t size() const { return begin_.size() - 1; }
  std::string_view operator[](size_t i) const {
    return {bytes_.data() + begin_[i], static_cast<size_t>(begin_[i + 1] - begin_[i])};
  }
  void add(std::string_view text) {
    bytes_ += text;
    begin_.push_back(bytes_.size());
  }
  // In place: bytes appended to open() belong to the string that close() ends.
  std::string& open() { return bytes_; }
  void close() { begin_.push_back(bytes_.size()); }

 private:
  std::string bytes_;
  std::vector<uint64_t> begin_;  // [n + 1]
};

// Numbers index the pool given to each call; the first of equal strings stays.
class StringIndex {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  void reserve(size_t n);
  bool insert(const StringPool& pool, uint32_t number);  // false: an equal string is there already
  uint32_t find(const StringPool& pool, std::string_view text) const;

 private:
  struct Slot {
    uint32_t number = kNone;
    uint32_t tag =
        0;  // upper half of the hash: settles nearly all mismatches without touching the pool
  };
  void grow(const StringPool& pool);

  std::vector<Slot> slots_;  // power of two, at most two thirds full
  size_t used_ = 0;
};

}  // namespace llmrt
