// The `llama` model of GGUF: SentencePiece BPE by score. Of all neighbours whose joined text is a token the one with the highest
// score joins first, leftmost among equals; what stays unknown falls back to bytes. (Not the Unigram lattice of T5.)
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tokenizer/merge_queue.h"
#include "tokenizer/token_table.h"

namespace llmrt {

class Spm {
 public:
  explicit Spm(const TokenTable& table);
  // Ids of one run of text, blanks as marks.
  void encode(const TokenTable& table, std::string_view text, Token unk, MergeWorkspace& w,
              std::vector<Token>& ids) const;

 private:
  size_t word_end(std::string_view text, size_t begin) const;
  void encode_word(const TokenTable& table, std::string_view word, Token unk, MergeWorkspace& w,
                   std::vector<Token>& ids) const;

  // Code points c for which some token holds c directly before a mark, ascending, the mark itself left out. Before a mark after any
  // other character no merge can reach across, so the text is cut there: exact, and words are short.
  std::vector<uint32_t> joins_mark_;
};

}  // namespace llmrt
