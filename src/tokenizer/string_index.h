// StringPool: strings back to back. StringIndex: bytes -> number over a pool, open addressing.
//
// Most tokens are short, so a slot holds up to 12 bytes of its string: finding one is one cache line, not a walk over slot, offset
// and bytes. A longer string is told by its hash and length, then compared in the pool.
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
  static constexpr uint32_t kMaxStrings = (1u << 28) - 1;  // numbers have 28 bits

  // A string as slots hold it, with where to look.
  struct Key {
    uint64_t head = 0;    // first 8 bytes; of a long string the hash
    uint32_t tail = 0;    // next 4 bytes; of a long string the length
    uint32_t length = 0;  // 0..12, or kLong
    uint64_t hash = 0;
  };
  static Key make_key(std::string_view text);

  void reserve(size_t n);
  bool insert(const StringPool& pool, uint32_t number);  // false: an equal string is there already
  uint32_t find(const StringPool& pool, const Key& key, std::string_view text) const;
  uint32_t find(const StringPool& pool, std::string_view text) const {
    return find(pool, make_key(text), text);
  }
  void prefetch(const Key& key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[key.hash & (slots_.size() - 1)]);
  }

 private:
  static constexpr uint32_t kLong = 15;
  static constexpr uint32_t kFree = 0xFFFFFFFF;
  struct Slot {
    uint64_t head = 0;
    uint32_t tail = 0;
    uint32_t number_and_length = kFree;  // number << 4 | length
  };
  static_assert(sizeof(Slot) == 16);
  void grow(const StringPool& pool);
  // its slot, or the free one for it
  size_t slot_of(const StringPool& pool, const Key& key, std::string_view text) const;

  std::vector<Slot> slots_;  // power of two, at most two thirds full
  size_t used_ = 0;
};

}  // namespace llmrt
