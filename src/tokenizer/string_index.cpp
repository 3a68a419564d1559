#include "tokenizer/string_index.h"

#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace llmrt {

namespace {

template <class T>
uint64_t load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// The 1 to 8 bytes at p, zero-extended; every byte is read at least once, some twice, none outside.
uint64_t load_short(const char* p, size_t n) {
  if (n == 8) return load<uint64_t>(p);
  if (n >= 4) return load<uint32_t>(p) | load<uint32_t>(p + n - 4) << (8 * (n - 4));
  const size_t middle = n / 2;
  return load<uint8_t>(p) | load<uint8_t>(p + middle) << (8 * middle) |
         load<uint8_t>(p + n - 1) << (8 * (n - 1));
}

uint64_t mix(uint64_t x) {
  x *= 0x9E3779B97F4A7C15u;
  return x ^ x >> 32;
}

}  // namespace

StringIndex::Key StringIndex::make_key(std::string_view text) {
  const char* p = text.data();
  const size_t n = text.size();
  if (n > 12) {
    const uint64_t hash = XXH3_64bits(p, n);
    return {hash, static_cast<uint32_t>(n), kLong, hash};
  }
  Key key;
  key.length = static_cast<uint32_t>(n);
  if (n > 0) key.head = load_short(p, n < 8 ? n : 8);
  if (n > 8) key.tail = static_cast<uint32_t>(load<uint64_t>(p + n - 8) >> (8 * (16 - n)));
  key.hash = mix(mix(key.head ^ uint64_t{key.length} << 56) + key.tail);
  return key;
}

void StringIndex::reserve(size_t n) {
  if (slots_.empty()) slots_.resize(std::bit_ceil(n + n / 2 + 8));
}

size_t StringIndex::slot_of(const StringPool& pool, const Key& key, std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t i = key.hash & mask;
  for (; slots_[i].number_and_length != kFree; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.head != key.head || slot.tail != key.tail ||
        (slot.number_and_length & 15) != key.length)
      continue;
    if (key.length != kLong || pool[slot.number_and_length >> 4] == text) return i;
  }
  return i;
}

void StringIndex::grow(const StringPool& pool) {
  std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.number_and_length == kFree) continue;
    const std::string_view text = pool[slot.number_and_length >> 4];
    slots_[slot_of(pool, make_key(text), text)] = slot;
  }
}

bool StringIndex::insert(const StringPool& pool, uint32_t number) {
  if ((used_ + 1) * 3 > slots_.size() * 2) grow(pool);
  const std::string_view text = pool[number];
  const Key key = make_key(text);
  Slot& slot = slots_[slot_of(pool, key, text)];
  if (slot.number_and_length != kFree) return false;
  slot = {key.head, key.tail, number << 4 | key.length};
  ++used_;
  return true;
}

uint32_t StringIndex::find(const StringPool& pool, const Key& key, std::string_view text) const {
  if (slots_.empty()) return kNone;
  const uint32_t found = slots_[slot_of(pool, key, text)].number_and_length;
  return found == kFree ? kNone : found >> 4;
}

}  // namespace llmrt
