#include "tokenizer/bpe.h"

#include <array>
#include <bit>
#include <span>
#include <string>

#include "tokenizer/unicode.h"

namespace llmrt {

namespace {

size_t hash_pair(uint32_t left, uint32_t right) {
  const uint64_t x = (uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u;
  return static_cast<size_t>(x ^ x >> 32);
}

// One line of the merge list. Lines are read in batches: all memory a step will touch is asked for before the step, so cache
// misses overlap.
struct Merge {
  uint32_t rank = 0;
  std::string_view left_text, right_text;  // as in the file
  std::string both;                        // left half + right half, in the form of the keys
  size_t n_left = 0;
  StringIndex::Key left_key, right_key, both_key;
  uint32_t left = 0, right = 0, joined = 0;

  std::string_view left_half() const { return std::string_view(both).substr(0, n_left); }
  std::string_view right_half() const { return std::string_view(both).substr(n_left); }
};
constexpr size_t kBatch = 32;

// "left right", cut at the first blank that is not the first byte (a half may be a blank in vocabularies of raw text).
// False if the merge can never apply: a half missing, or a character outside the byte-level alphabet.
bool read_merge(std::string_view line, KeyForm form, Merge& merge) {
  const size_t blank = line.find(' ', 1);
  if (blank == std::string_view::npos || blank + 1 == line.size()) return false;
  merge.left_text = line.substr(0, blank);
  merge.right_text = line.substr(blank + 1);
  merge.both.clear();
  if (form == KeyForm::byte_level) {
    if (!append_byte_level(merge.left_text, merge.both)) return false;
    merge.n_left = merge.both.size();
    return append_byte_level(merge.right_text, merge.both);
  }
  merge.both += merge.left_text;
  merge.n_left = merge.both.size();
  merge.both += merge.right_text;
  return true;
}

class MergeReader {
 public:
  MergeReader(const StringArray& lines, TokenTable& table, const SpecialMatcher& specials)
      : lines_(lines), table_(table), specials_(specials) {}

  // Next merges that can apply, with their numbers; empty at the end.
  std::span<Merge> next_batch() {
    size_t n = 0;
    while (n == 0 && line_ < lines_.size()) {
      for (; line_ < lines_.size() && n < kBatch; ++line_) n += prepare(batch_[n]) ? 1 : 0;
      n = resolve(n);
    }
    return {batch_.data(), n};
  }

 private:
  bool prepare(Merge& merge) {
    if (!read_merge(lines_[line_], table_.form(), merge)) return false;
    merge.rank = static_cast<uint32_t>(line_);
    merge.left_key = StringIndex::make_key(merge.left_half());
    merge.right_key = StringIndex::make_key(merge.right_half());
    table_.prefetch(merge.left_key);
    table_.prefetch(merge.right_key);
    merge.joined = guess_joined(merge.both);
    if (merge.joined == StringIndex::kNone) {
      merge.both_key = StringIndex::make_key(merge.both);
      table_.prefetch(merge.both_key);
    }
    return true;
  }

  // Vocabularies are mostly in the order of their merges, so the joined string is mostly the last one's or the one behind it.
  uint32_t guess_joined(std::string_view both) {
    for (uint32_t guess = last_; guess < table_.size() && guess <= last_ + 1; ++guess)
      if (table_.key(guess) == both && table_.is_indexed(guess)) return last_ = guess;
    return StringIndex::kNone;
  }

  // Numbers of the first n of the batch; returns how many stay.
  size_t resolve(size_t n) {
    size_t n_kept = 0;
    for (size_t i = 0; i < n; ++i) {
      Merge& merge = batch_[i];
      if (merge.joined == StringIndex::kNone) {
        merge.joined = table_.find_key(merge.both_key, merge.both);
        if (merge.joined < table_.size()) last_ = merge.joined;
      }
      if (merge.joined == StringIndex::kNone) {
        if (specials_.find_exact(std::string(merge.left_text).append(merge.right_text)) >= 0)
          continue;
        merge.joined = table_.add_key(merge.both);
      }
      merge.left = find_or_add(merge.left_key, merge.left_half());
      merge.right = find_or_add(merge.right_key, merge.right_half());
      if (n_kept != i) std::swap(batch_[n_kept], merge);
      ++n_kept;
    }
    return n_kept;
  }

  uint32_t find_or_add(const StringIndex::Key& key, std::string_view text) {
    const uint32_t number = table_.find_key(key, text);
    return number != StringIndex::kNone ? number : table_.add_key(text);
  }

  const StringArray& lines_;
  TokenTable& table_;
  const SpecialMatcher& specials_;
  size_t line_ = 0;
  uint32_t last_ = 0;
  std::array<Merge, kBatch> batch_;
};

}  // namespace

Result<Bpe> Bpe::make(const Metadata& metadata, TokenTable& table, const SpecialMatcher& specials) {
  constexpr size_t kMaxMerges = StringIndex::kMaxStrings / 8;
  LLMRT_ASSIGN(const StringArray* merges, metadata.get_strings("tokenizer.ggml.merges"));
  if (!merges)
    return error(Code::format, "tokenizer.ggml.merges is missing, a BPE vocabulary needs it");
  if (merges->size() > kMaxMerges)
    return error(Code::format, "tokenizer.ggml.merges has %zu entries, at most %zu are allowed",
                 merges->size(), kMaxMerges);
  Bpe bpe;
  bpe.slots_.resize(std::bit_ceil(merges->size() + merges->size() / 2 + 8));
  MergeReader reader(*merges, table, specials);
  for (auto batch = reader.next_batch(); !batch.empty(); batch = reader.next_batch()) {
    for (const Merge& merge : batch)
      __builtin_prefetch(&bpe.slots_[hash_pair(merge.left, merge.right) & (bpe.slots_.size() - 1)]);
    for (const Merge& merge : batch)
      bpe.insert(merge.left, merge.right, {merge.rank, merge.joined});
  }
  if (table.form() == KeyForm::marks) bpe.cutter_.emplace(table);
  return bpe;
}

void Bpe::insert(uint32_t left, uint32_t right, SymbolPair pair) {
  const size_t mask = slots_.size() - 1;
  size_t i = hash_pair(left, right) & mask;
  for (; slots_[i].left != StringIndex::kNone; i = (i + 1) & mask)
    if (slots_[i].left == left && slots_[i].right == right) return;
  slots_[i] = {left, right, pair};
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
  if (!cutter_) {
    encode_word(table, piece, unk, w, ids);
    return;
  }
  for (size_t begin = 0; begin < piece.size();) {
    const size_t end = cutter_->word_end(piece, begin);
    encode_word(table, piece.substr(begin, end - begin), unk, w, ids);
    begin = end;
  }
}

void Bpe::encode_word(const TokenTable& table, std::string_view word, Token unk, MergeWorkspace& w,
                      std::vector<Token>& ids) const {
  w.symbols.clear();
  const bool by_byte = table.form() == KeyForm::byte_level;
  for (size_t i = 0; i < word.size();) {
    const size_t n = by_byte ? 1 : utf8_length(word[i]);
    const Token byte = by_byte ? table.byte_token(static_cast<uint8_t>(word[i])) : -1;
    const uint32_t number =
        byte >= 0 ? static_cast<uint32_t>(byte) : table.find_key(word.substr(i, n));
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
      const Token byte = table.byte_token(static_cast<uint8_t>(word[i]));
      if (byte >= 0 || unk >= 0) ids.push_back(byte >= 0 ? byte : unk);
    }
  }
}

}  // namespace llmrt
