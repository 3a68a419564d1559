// What a file's special tokens are: ids from metadata, ids known by their text, and which of them end a generation.
#pragma once

#include <vector>

#include "base/status.h"
#include "formats/metadata.h"
#include "tokenizer/token_table.h"
#include "tokenizer/tokenizer.h"

namespace llmrt {

struct SpecialDefaults {
  bool add_bos = false;
  Token bos = -1, eos = -1, unk = -1;
};

struct SpecialRules {
  SpecialTokens tokens;
  std::vector<bool> ends_generation;  // [n_vocab]
};

// Also settles kinds in the table: an end-of-turn text that the file calls ordinary is made a control token.
Result<SpecialRules> read_special_rules(const Metadata& metadata, TokenTable& table,
                                        const SpecialDefaults& defaults);

}  // namespace llmrt
