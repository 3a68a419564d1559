// Tokenizer::Impl: what a Tokenizer is made of. make_tokenizer.cpp fills it, encode.cpp runs it.
//
//   text --utf8 check--> special matches | runs between --per run--> [blanks to marks] --pretokenize--> pieces --BPE or SPM--> ids
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/bpe.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/special_matcher.h"
#include "tokenizer/spm.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"

namespace llmrt {

class Tokenizer::Impl {
 public:
  Status read(const Metadata& metadata);

  Result<std::vector<Token>> encode_trusted(std::string_view text,
                                            std::span<const TextSpan> trusted,
                                            bool add_special) const;
  uint32_t n_vocab() const { return table_.size(); }
  const SpecialTokens& special() const { return special_; }
  uint32_t attr(Token id) const { return attrs_[static_cast<size_t>(id)]; }
  std::string_view piece(Token id) const { return table_.piece(id); }
  bool has_leading_blank() const { return add_space_prefix_; }

 private:
  // Buffers of one encode call.
  struct Scratch {
    Pretokenizer::Workspace split;
    MergeWorkspace merge;
    std::vector<uint32_t> ends;
    std::string marked;
  };
  Status encode_run(std::string_view run, Scratch& scratch, std::vector<Token>& ids) const;
  Status encode_bpe(std::string_view run, Scratch& scratch, std::vector<Token>& ids) const;

  TokenTable table_;
  SpecialTokens special_;
  SpecialMatcher specials_;
  std::vector<uint8_t> attrs_;                // [n_vocab], TokenAttr bits
  std::optional<Pretokenizer> pretokenizer_;  // BPE: with bpe_
  std::optional<Bpe> bpe_;
  std::optional<Spm> spm_;
  bool add_space_prefix_ = false;  // SPM: a blank before the text and after each special token
  bool remove_extra_whitespaces_ = false;  // SPM: runs of blanks become one, none at the ends
};

}  // namespace llmrt
