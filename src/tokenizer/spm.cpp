#include "tokenizer/spm.h"

#include <algorithm>
#include <bit>

#include "tokenizer/unicode.h"

namespace llmrt {

namespace {

// Highest score first: an ascending key. NaN, which a hostile file may hold, comes last.
uint32_t key_of(float score) {
  if (!(score == score)) return SymbolPair::kNoPair - 1;
  const auto bits = std::bit_cast<uint32_t>(score + 0.0f);  // -0 and +0 are equal scores
  // orders as the floats do
  const uint32_t ascending = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
  return std::min(~ascending, SymbolPair::kNoPair - 1);
}

}  // namespace

void Spm::encode(const TokenTable& table, std::string_view text, Token unk, MergeWorkspace& w,
                 std::vector<Token>& ids) const {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = cutter_.word_end(text, begin);
    encode_word(table, text.substr(begin, end - begin), unk, w, ids);
    begin = end;
  }
}

void Spm::encode_word(const TokenTable& table, std::string_view word, Token unk, MergeWorkspace& w,
                      std::vector<Token>& ids) const {
  w.symbols.clear();
  for (size_t i = 0; i < word.size();) {
    const size_t n = utf8_length(word[i]);
    w.symbols.push_back(
        {static_cast<uint32_t>(i), static_cast<uint32_t>(i + n), StringIndex::kNone});
    i += n;
  }
  merge_symbols(w, [&](const Symbol& a, const Symbol& b) -> SymbolPair {
    const uint32_t number = table.find_key(word.substr(a.begin, b.end - a.begin));
    if (number >= table.size()) return {};
    return {key_of(table.score(static_cast<Token>(number))), number};
  });
  for (const Symbol& symbol : w.symbols) {
    const std::string_view text = word.substr(symbol.begin, symbol.end - symbol.begin);
    const uint32_t number =
        symbol.number != StringIndex::kNone ? symbol.number : table.find_key(text);
    if (number < table.size()) {
      ids.push_back(static_cast<Token>(number));
      continue;
    }
    for (const char c : text) {
      const Token byte = table.byte_token(static_cast<uint8_t>(c));
      if (byte >= 0 || unk >= 0) ids.push_back(byte >= 0 ? byte : unk);
    }
  }
}

}  // namespace llmrt
