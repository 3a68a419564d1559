// Byte pair encoding by the merge list of the file.
//
// Strings that merges name but the vocabulary lacks get numbers behind the ids, so a pair of numbers is a pair of strings, and a
// symbol that ends as such a string falls back to bytes. Merges that would make a control token are left out: no control id ever
// comes from plain text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/metadata.h"
#include "tokenizer/mark_cutter.h"
#include "tokenizer/merge_queue.h"
#include "tokenizer/special_matcher.h"
#include "tokenizer/token_table.h"

namespace llmrt {

class Bpe {
 public:
  // Numbers of merge-only strings are added to the table. A merge without two halves can never apply and is skipped; of equal
  // merges the first counts. Error: no merge list, or one of another type.
  static Result<Bpe> make(const Metadata& metadata, TokenTable& table,
                          const SpecialMatcher& specials);

  // Ids of one pre-token (bytes, or text with marks: the form of the table's keys).
  void encode(const TokenTable& table, std::string_view piece, bool whole_first, Token unk,
              MergeWorkspace& w, std::vector<Token>& ids) const;

 private:
  void encode_word(const TokenTable& table, std::string_view word, Token unk, MergeWorkspace& w,
                   std::vector<Token>& ids) const;

  struct Slot {
    uint32_t left = StringIndex::kNone, right = 0;
    SymbolPair pair;
  };
  void insert(uint32_t left, uint32_t right, SymbolPair pair);  // the first of equal pairs stays
  SymbolPair find(uint32_t left, uint32_t right) const;

  std::vector<Slot> slots_;           // open addressing, power of two
  std::optional<MarkCutter> cutter_;  // vocabularies of text with marks
};

}  // namespace llmrt
