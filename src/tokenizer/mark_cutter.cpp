#include "tokenizer/mark_cutter.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace llmrt {

namespace {

uint32_t code_point_before(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && is_continuation(text[begin])) --begin;
  // 0 for broken text: such a key meets no text
  return utf8_step(text.data() + begin, end - begin).code_point;
}

size_t skip_marks(std::string_view text, size_t at) {
  while (text.substr(at).starts_with(kBlankMark)) at += kBlankMark.size();
  return at;
}

// First mark at or behind `at`, npos if none. Its lead byte is rare, so memchr does the work.
size_t next_mark(std::string_view text, size_t at) {
  for (;;) {
    at = text.find(kBlankMark[0], at);
    if (at == std::string_view::npos || text.substr(at).starts_with(kBlankMark)) return at;
    ++at;
  }
}

}  // namespace

MarkCutter::MarkCutter(const TokenTable& table) {
  for (uint32_t number = 0; number < table.n_keys(); ++number) {
    const std::string_view key = table.key(number);
    for (size_t mark = next_mark(key, 0); mark != std::string_view::npos;
         mark = next_mark(key, skip_marks(key, mark)))
      if (mark > 0) joins_.push_back(code_point_before(key, mark));
  }
  std::sort(joins_.begin(), joins_.end());
  joins_.erase(std::unique(joins_.begin(), joins_.end()), joins_.end());
}

size_t MarkCutter::word_end(std::string_view text, size_t begin) const {
  size_t at = skip_marks(text, begin);
  for (size_t mark = next_mark(text, at); mark != std::string_view::npos;
       mark = next_mark(text, skip_marks(text, mark)))
    if (joins_.empty() ||
        !std::binary_search(joins_.begin(), joins_.end(), code_point_before(text, mark)))
      return mark;
  return text.size();
}

}  // namespace llmrt
