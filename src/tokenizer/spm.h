// The `llama` model of GGUF: SentencePiece BPE by score. Of all neighbours whose joined text is a token the one with the highest
// score joins first, leftmost among equals; what stays unknown falls back to bytes. (Not the Unigram lattice of T5.)
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/mark_cutter.h"
#include "tokenizer/merge_queue.h"
#include "tokenizer/token_table.h"

namespace llmrt {

class Spm {
 public:
  explicit Spm(const TokenTable& table) : cutter_(table) {}
  // Ids of one run of text, blanks as marks.
  void encode(const TokenTable& table, std::string_view text, Token unk, MergeWorkspace& w,
              std::vector<Token>& ids) const;

 private:
  void encode_word(const TokenTable& table, std::string_view word, Token unk, MergeWorkspace& w,
                   std::vector<Token>& ids) const;

  MarkCutter cutter_;
};

}  // namespace llmrt
