#include "tokenizer/bpe.h"

#include <bit>
#include <string>

#include "tokenizer/unicode.h"

namespace llmrt {

namespace {

size_t hash_pair(uint32_t left, uint32_t right) {
  const uint64_t x = (uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(x ^ x >> 32);
}

struct MergeText {
  std::string_view left, right;
};

// "left right", cut at the first blank that is not the first byte (a half may be a blank in vocabularies of raw text).
MergeText cut_merge(std::string_view merge) {
  const size_t blank = merge.find(' ', 1);
  if (blank == std::string_view::npos) return {};
  return {merge.substr(0, blank), merge.substr(blank + 1)};
}

}  // namespace

Result<Bpe> Bpe::make(const Metadata& metadata, TokenTable& table, const SpecialMatcher& specials) {
  LLMRT_ASSIGN(const StringArray* merges, metadata.get_strings("tokenizer.ggml.merges"));
  if (!merges)
    return error(Code::format, "tokenizer.ggml.merges is missing, a BPE vocabulary needs it");
  if (merges->size() >= SymbolPair::kNoPair / 4)
    return error(Code::format, "tokenizer.ggml.merges has %zu entries, at most %u are allowed",
                 merges->size(), SymbolPair::kNoPair / 4);
  Bpe bpe;
  bpe.slots_.resize(std::bit_ceil(merges->size() + merges->size() / 2 + 8));
  std::string both;
  for (size_t rank = 0; rank < merges->size(); ++rank) {
    const MergeText text = cut_merge((*merges)[rank]);
    if (text.left.empty() || text.right.empty()) continue;
    both.clear();
    size_t n_left = 0;
    if (table.form() == KeyForm::byte_level) {
      if (!append_byte_level(text.left, both)) continue;
      n_left = both.size();
      if (!append_byte_level(text.right, both)) continue;
    } else {
      both += text.left;
      n_left = both.size();
      both += text.right;
    }
    uint32_t number = table.find_key(both);
    if (number == StringIndex::kNone) {
      if (specials.find_exact(std::string(text.left).append(text.right)) >= 0) continue;
      number = table.find_or_add_key(both);
    }
    const uint32_t left = table.find_or_add_key(std::string_view(both).substr(0, n_left));
    const uint32_t right = table.find_or_add_key(std::string_view(both).substr(n_left));
    bpe.insert(left, right, {static_cast<uint32_t>(rank), number});
  }
  return bpe;
}

bool Bpe::insert(uint32_t left, uint32_t right, SymbolPair pair) {
  const size_t mask = slots_.size() - 1;
  size_t i = hash_pair(left, right) & mask;
  for (; slots_[i].left != StringIndex::kNone; i = (i + 1) & mask)
    if (slots_[i].left == left && slots_[i].right == right) return false;
  slots_[i] = {left, right, pair};
  return true;
}

SymbolPair Bpe::find(uint32_t left, uint32_t right) const {
  const size_t mask = slots_.size() - 1;
  if (left == StringIndex::kNone) return {};
  for (size_t i = hash_pair(left, right) & mask; slots_[i].left != StringIndex::kNone;
       i = (i + 1) & mask)
    if (slots_[i].left == left && slots_[i].right == right) return slots_[i].pair;
  return {};
}

void Bpe::encode(const TokenTable& table, std::string_view piece, bool whole_first, Token unk,
                 MergeWorkspace& w, std::vector<Token>& ids) const {
  if (whole_first) {
    const uint32_t whole = table.find_key(piece);
    if (whole < table.size()) {
      ids.push_back(static_cast<Token>(whole));
      return;
    }
  }
  w.symbols.clear();
  const bool by_byte = table.form() == KeyForm::byte_level;
  for (size_t i = 0; i < piece.size();) {
    const size_t n = by_byte ? 1 : utf8_length(piece[i]);
    const Token byte = by_byte ? table.byte_token(static_cast<uint8_t>(piece[i])) : -1;
    const uint32_t number =
        byte >= 0 ? static_cast<uint32_t>(byte) : table.find_key(piece.substr(i, n));
    w.symbols.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(i + n), number});
    i += n;
  }
  merge_symbols(w, [this](const Symbol& a, const Symbol& b) { return find(a.number, b.number); });
  for (const Symbol& symbol : w.symbols) {
    if (symbol.number < table.size()) {
      ids.push_back(static_cast<Token>(symbol.number));
      continue;
    }
    for (uint32_t i = symbol.begin; i < symbol.end; ++i) {
      const Token byte = table.byte_token(static_cast<uint8_t>(piece[i]));
      if (byte >= 0 || unk >= 0) ids.push_back(byte >= 0 ? byte : unk);
    }
  }
}

}  // namespace llmrt
