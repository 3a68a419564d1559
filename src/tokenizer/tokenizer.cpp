#include "tokenizer/tokenizer.h"

#include "tokenizer/file_tokenizer.h"
#include "tokenizer/stream_decoder.h"

namespace llmrt {

Result<std::unique_ptr<Tokenizer>> Tokenizer::make(const Metadata& metadata) {
  return FileTokenizer::make(metadata);
}

Result<std::vector<Token>> Tokenizer::encode(std::string_view text, bool add_special,
                                             bool parse_special) const {
  const TextSpan all{0, text.size(), true};
  return FileTokenizer::of(*this).encode_trusted(text, {&all, parse_special ? 1u : 0u},
                                                 add_special);
}

Result<std::vector<Token>> Tokenizer::encode_spans(std::string_view text,
                                                   std::span<const TextSpan> spans,
                                                   bool add_special) const {
  LLMRT_ASSIGN(const std::vector<TextSpan> trusted, merge_trusted(text, spans));
  return FileTokenizer::of(*this).encode_trusted(text, trusted, add_special);
}

std::string_view Tokenizer::token_bytes(Token id) const {
  return id >= 0 && static_cast<uint32_t>(id) < n_vocab_ ? FileTokenizer::of(*this).piece(id)
                                                         : std::string_view();
}

uint32_t Tokenizer::token_attr(Token id) const {
  return id >= 0 && static_cast<uint32_t>(id) < n_vocab_ ? FileTokenizer::of(*this).attr(id) : 0;
}

std::string Tokenizer::decode(std::span<const Token> ids, bool with_special) const {
  std::string text;
  StreamDecoder decoder(*this, with_special);
  for (const Token id : ids) decoder.push(id, text);
  decoder.finish(text);
  return text;
}

Token Tokenizer::find_token(std::string_view text) const {
  return FileTokenizer::of(*this).find(text);
}

}  // namespace llmrt
