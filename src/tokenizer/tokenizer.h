// Tokenizer: text to ids and back, as the file's metadata (tokenizer.ggml.*) says. Immutable after make(); any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/metadata.h"

namespace llmrt {

using Token = int32_t;

// Part of a text with one origin. Special-token text is matched only where every byte is trusted; the text between specials is one
// run for the pre-tokenizer across part borders, so a template's ' ' + content tokenises as one string.
struct TextSpan {
  size_t begin = 0, end = 0;
  bool trusted = false;
};

enum TokenAttr : uint32_t {
  kTokenControl = 1,
  kTokenByte = 2,
  kTokenEndOfGeneration = 4,
  kTokenUserDefined = 8,
  kTokenUnused = 16
};

struct SpecialTokens {
  Token bos = -1, eos = -1, eot = -1, pad = -1, fim_prefix = -1, fim_suffix = -1, fim_middle = -1,
        unk = -1, eom = -1, sep = -1;
  bool add_bos = false, add_eos = false;
};

class Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> make(const Metadata& metadata);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;
  ~Tokenizer();

  // Invalid UTF-8: invalid_argument with the byte offset.
  Result<std::vector<Token>> encode(std::string_view text, bool add_special,
                                    bool parse_special) const;
  Result<std::vector<Token>> encode_spans(std::string_view text, std::span<const TextSpan> spans,
                                          bool add_special) const;

  uint32_t n_vocab() const;
  // Raw bytes of a token as they appear in output; a control token has its text here too. May be half a code point.
  std::string_view token_bytes(Token id) const;
  uint32_t token_attr(Token id) const;
  const SpecialTokens& special() const;
  bool is_end_of_generation(Token id) const {
    return (token_attr(id) & kTokenEndOfGeneration) != 0;
  }
  // Ids to text; with_special keeps control tokens' text. Leading-blank rule of SentencePiece vocabularies applied at the start.
  std::string decode(std::span<const Token> ids, bool with_special) const;
  // A SentencePiece vocabulary that begins every text with a blank of its own.
  bool has_leading_blank() const;

 private:
  class Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace llmrt
