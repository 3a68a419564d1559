// Merging neighbours, best pair first, leftmost among equals: what BPE and SentencePiece vocabularies share.
//
//   symbols  s0 s1 s2 ... s(n-1), each [begin, end) of the text     pair i = (s_i, next alive symbol)
//   repeat: take the pair with the lowest key, at equal keys the leftmost; join it; look up its two new neighbours
//
// A short run scans an array (no allocation, fits a cache line or two); a long one keeps a heap: O(n log n) for a megabyte of one
// letter. A heap entry (key, position) is stale iff the pair now at that position has another key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace llmrt {

struct Symbol {
  uint32_t begin = 0, end = 0;
  uint32_t number = 0;  // of its key in the token table, StringIndex::kNone where it has none
};

struct SymbolPair {
  static constexpr uint32_t kNoPair = 0xFFFFFFFF;
  uint32_t key = kNoPair;  // lower merges first
  uint32_t number = 0;     // of the joined symbol
};

struct MergeWorkspace {
  std::vector<Symbol> symbols;
  std::vector<SymbolPair> pairs;
  std::vector<uint32_t> next, prev;
  std::vector<uint64_t> heap;  // key << 32 | position
};

template <class LookUp>
void merge_short(MergeWorkspace& w, const LookUp& look_up) {
  size_t n = w.symbols.size();
  Symbol* s = w.symbols.data();
  w.pairs.resize(n);
  SymbolPair* pair = w.pairs.data();
  for (size_t i = 0; i + 1 < n; ++i) pair[i] = look_up(s[i], s[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i)
      if (pair[i].key < pair[best].key) best = i;
    if (pair[best].key == SymbolPair::kNoPair) break;
    s[best] = {s[best].begin, s[best + 1].end, pair[best].number};
    std::copy(s + best + 2, s + n, s + best + 1);
    std::copy(pair + best + 1, pair + n - 1, pair + best);
    --n;
    if (best > 0) pair[best - 1] = look_up(s[best - 1], s[best]);
    if (best + 1 < n) pair[best] = look_up(s[best], s[best + 1]);
  }
  w.symbols.resize(n);
}

template <class LookUp>
void merge_long(MergeWorkspace& w, const LookUp& look_up) {
  constexpr uint32_t kEnd = 0xFFFFFFFF;
  const auto n = static_cast<uint32_t>(w.symbols.size());
  w.pairs.assign(n, {});
  w.next.resize(n);
  w.prev.resize(n);
  w.heap.clear();
  const auto entry = [&](uint32_t i) { return uint64_t{w.pairs[i].key} << 32 | i; };
  for (uint32_t i = 0; i < n; ++i) {
    w.prev[i] = i == 0 ? kEnd : i - 1;
    w.next[i] = i + 1 == n ? kEnd : i + 1;
    if (i + 1 == n) break;
    w.pairs[i] = look_up(w.symbols[i], w.symbols[i + 1]);
    if (w.pairs[i].key != SymbolPair::kNoPair) w.heap.push_back(entry(i));
  }
  std::make_heap(w.heap.begin(), w.heap.end(), std::greater<>());
  const auto refresh = [&](uint32_t i) {
    const uint32_t j = w.next[i];
    w.pairs[i] = j == kEnd ? SymbolPair{} : look_up(w.symbols[i], w.symbols[j]);
    if (w.pairs[i].key == SymbolPair::kNoPair) return;
    w.heap.push_back(entry(i));
    std::push_heap(w.heap.begin(), w.heap.end(), std::greater<>());
  };
  while (!w.heap.empty()) {
    std::pop_heap(w.heap.begin(), w.heap.end(), std::greater<>());
    const uint64_t top = w.heap.back();
    w.heap.pop_back();
    const auto i = static_cast<uint32_t>(top);
    if (w.pairs[i].key != top >> 32) continue;
    const uint32_t j = w.next[i];
    w.symbols[i] = {w.symbols[i].begin, w.symbols[j].end, w.pairs[i].number};
    w.pairs[j] = {};  // j is gone: its entries are stale
    w.next[i] = w.next[j];
    if (w.next[i] != kEnd) w.prev[w.next[i]] = i;
    refresh(i);
    if (w.prev[i] != kEnd) refresh(w.prev[i]);
  }
  uint32_t n_left = 0;
  for (uint32_t i = 0; n > 0 && i != kEnd; i = w.next[i]) w.symbols[n_left++] = w.symbols[i];
  w.symbols.resize(n_left);
}

// Replaces w.symbols (which tile the text in order) by the merged ones.
template <class LookUp>
void merge_symbols(MergeWorkspace& w, const LookUp& look_up) {
  constexpr size_t kShort = 64;
  if (w.symbols.size() <= kShort)
    merge_short(w, look_up);
  else
    merge_long(w, look_up);
}

}  // namespace llmrt
