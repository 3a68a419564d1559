#include "tokenizer/special_matcher.h"

#include <algorithm>

namespace llmrt {

namespace {

// Real ones have at most some sixty bytes; the bound keeps a hostile vocabulary from making each place of a text expensive.
constexpr size_t kMaxSpecialText = 1024;

bool is_special(TokenKind kind) {
  return kind == TokenKind::control || kind == TokenKind::unknown ||
         kind == TokenKind::user_defined;
}

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// First i of [low, high) without the property, which holds for a (maybe empty) front part.
template <class Property>
size_t first_not(size_t low, size_t high, const Property& property) {
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (property(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace

Result<SpecialMatcher> SpecialMatcher::make(const TokenTable& table,
                                            const std::vector<bool>& eats_blanks) {
  SpecialMatcher matcher;
  std::vector<Token> ids;
  for (Token id = 0; id < static_cast<Token>(table.size()); ++id) {
    if (!is_special(table.kind(id)) || table.text(id).empty()) continue;
    if (table.text(id).size() > kMaxSpecialText)
      return error(Code::format, "special token %d has %zu bytes of text, at most %zu are allowed",
                   id, table.text(id).size(), kMaxSpecialText);
    ids.push_back(id);
  }
  std::stable_sort(ids.begin(), ids.end(),
                   [&](Token a, Token b) { return table.text(a) < table.text(b); });
  ids.erase(std::unique(ids.begin(), ids.end(),
                        [&](Token a, Token b) { return table.text(a) == table.text(b); }),
            ids.end());

  for (const Token id : ids) matcher.texts_.add(table.text(id));
  for (size_t i = 0; i < ids.size(); ++i) {
    const Token id = ids[i];
    matcher.entries_.push_back(
        {id, table.kind(id) == TokenKind::user_defined, eats_blanks[static_cast<size_t>(id)]});
    ++matcher.first_[static_cast<uint8_t>(matcher.texts_[i][0]) + 1u];
  }
  for (size_t b = 0; b < 256; ++b) matcher.first_[b + 1] += matcher.first_[b];
  return matcher;
}

size_t SpecialMatcher::longest_at(std::string_view text, size_t at, size_t trusted_end) const {
  const auto first_byte = static_cast<uint8_t>(text[at]);
  size_t low = first_[first_byte];
  size_t high = first_[first_byte + 1u];
  size_t best = kNone;
  for (size_t depth = 1; low != high; ++depth) {
    if (texts_[low].size() == depth) {
      if (entries_[low].anywhere || at + depth <= trusted_end) best = low;
      if (++low == high) break;
    }
    if (at + depth == text.size()) break;
    const auto c = static_cast<uint8_t>(text[at + depth]);
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(texts_[i][depth]); };
    low = first_not(low, high, [&](size_t i) { return byte(i) < c; });
    high = first_not(low, high, [&](size_t i) { return byte(i) == c; });
  }
  return best;
}

void SpecialMatcher::find(std::string_view text, std::span<const TextSpan> trusted,
                          std::vector<SpecialMatch>& matches) const {
  matches.clear();
  if (entries_.empty()) return;
  size_t span = 0;
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<uint8_t>(text[at]);
    if (first_[c] == first_[c + 1u]) {
      ++at;
      continue;
    }
    while (span < trusted.size() && trusted[span].end <= at) ++span;
    const bool inside = span < trusted.size() && trusted[span].begin <= at;
    const size_t found = longest_at(text, at, inside ? trusted[span].end : at);
    if (found == kNone) {
      ++at;
      continue;
    }
    size_t end = at + texts_[found].size();
    if (entries_[found].eats_blanks)
      while (end < text.size() && is_ascii_space(text[end])) ++end;
    matches.push_back({at, end, entries_[found].id});
    at = end;
  }
}

Token SpecialMatcher::find_exact(std::string_view text) const {
  const size_t at = first_not(0, entries_.size(), [&](size_t i) { return texts_[i] < text; });
  return at != entries_.size() && texts_[at] == text ? entries_[at].id : -1;
}

Result<std::vector<TextSpan>> merge_trusted(std::string_view text,
                                            std::span<const TextSpan> spans) {
  std::vector<TextSpan> trusted;
  size_t at = 0;
  for (const TextSpan& span : spans) {
    if (span.begin < at || span.end < span.begin || span.end > text.size())
      return error(Code::invalid_argument,
                   "text span [%zu, %zu) does not follow byte %zu within %zu bytes", span.begin,
                   span.end, at, text.size());
    at = span.end;
    if (!span.trusted || span.begin == span.end) continue;
    if (!trusted.empty() && trusted.back().end == span.begin)
      trusted.back().end = span.end;
    else
      trusted.push_back(span);
  }
  return trusted;
}

}  // namespace llmrt
