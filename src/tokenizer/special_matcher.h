// SpecialMatcher: finds the text of special tokens in a text, leftmost first, the longest at each place (as Hugging Face's
// added tokens). User-defined tokens match anywhere; control and unknown tokens only where every byte is trusted.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"

namespace llmrt {

struct SpecialMatch {
  size_t begin = 0, end = 0;
  Token id = -1;
};

class SpecialMatcher {
 public:
  // Before TokenTable::index(), while file texts are there. eats_blanks: ids that swallow the white space after them.
  static Result<SpecialMatcher> make(const TokenTable& table, const std::vector<bool>& eats_blanks);

  // Matches do not overlap and ascend. `trusted` ascends without overlap (see merge_trusted).
  void find(std::string_view text, std::span<const TextSpan> trusted,
            std::vector<SpecialMatch>& matches) const;
  Token find_exact(std::string_view text) const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Entry {
    Token id;
    bool anywhere;     // user-defined
    bool eats_blanks;  // the match takes the white space behind it
  };
  size_t longest_at(std::string_view text, size_t at, size_t trusted_end) const;  // entry, or kNone

  // Sorted by text: the entries with a common prefix are a range, so narrowing the range byte by byte walks a trie.
  StringPool texts_;            // [n_entries]
  std::vector<Entry> entries_;  // [n_entries]
  // entries whose text begins with byte b: [first_[b], first_[b + 1])
  std::array<uint32_t, 257> first_{};
};

// The trusted parts of a text, neighbours joined. Error: spans out of order, overlapping or outside the text.
Result<std::vector<TextSpan>> merge_trusted(std::string_view text, std::span<const TextSpan> spans);

}  // namespace llmrt
