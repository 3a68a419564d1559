#include "tokenizer/string_index.h"

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace llmrt {

namespace {
uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }
uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
}  // namespace

void StringIndex::reserve(size_t n) {
  if (slots_.empty()) slots_.resize(std::bit_ceil(n + n / 2 + 8));
}

void StringIndex::grow(const StringPool& pool) {
  std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.number == kNone) continue;
    size_t i = hash_of(pool[slot.number]) & mask;
    while (slots_[i].number != kNone) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

bool StringIndex::insert(const StringPool& pool, uint32_t number) {
  if ((used_ + 1) * 3 > slots_.size() * 2) grow(pool);
  const std::string_view text = pool[number];
  const uint64_t hash = hash_of(text);
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  for (; slots_[i].number != kNone; i = (i + 1) & mask)
    if (slots_[i].tag == tag_of(hash) && pool[slots_[i].number] == text) return false;
  slots_[i] = {number, tag_of(hash)};
  ++used_;
  return true;
}

uint32_t StringIndex::find(const StringPool& pool, std::string_view text) const {
  if (slots_.empty()) return kNone;
  const uint64_t hash = hash_of(text);
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask; slots_[i].number != kNone; i = (i + 1) & mask)
    if (slots_[i].tag == tag_of(hash) && pool[slots_[i].number] == text) return slots_[i].number;
  return kNone;
}

}  // namespace llmrt
