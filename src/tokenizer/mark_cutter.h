// MarkCutter: cuts text with blank marks into words that no merge can reach across.
//
// Merged symbols are keys of the token table. Let J be the code points that some key holds directly before a mark. Before a mark that
// follows any other character (a mark itself counts as one of J) nothing can ever merge, so cutting there changes no id.
// Real vocabularies have J = {} or {'>'}: words stay short, and a line of text is not one long merge.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/token_table.h"

namespace llmrt {

class MarkCutter {
 public:
  explicit MarkCutter(const TokenTable& table);  // once all keys are in the table
  // End of the word that begins at `begin` < text.size().
  size_t word_end(std::string_view text, size_t begin) const;

 private:
  std::vector<uint32_t> joins_;  // J without the mark, ascending
};

}  // namespace llmrt
