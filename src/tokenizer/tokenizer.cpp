#include "tokenizer/tokenizer.h"

#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer_impl.h"

namespace llmrt {

Result<std::unique_ptr<Tokenizer>> Tokenizer::make(const Metadata& metadata) {
  auto impl = std::make_unique<Impl>();
  LLMRT_TRY(impl->read(metadata));
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

Result<std::vector<Token>> Tokenizer::encode(std::string_view text, bool add_special,
                                             bool parse_special) const {
  const TextSpan all{0, text.size(), true};
  return impl_->encode_trusted(text, {&all, parse_special ? 1u : 0u}, add_special);
}

Result<std::vector<Token>> Tokenizer::encode_spans(std::string_view text,
                                                   std::span<const TextSpan> spans,
                                                   bool add_special) const {
  LLMRT_ASSIGN(const std::vector<TextSpan> trusted, merge_trusted(text, spans));
  return impl_->encode_trusted(text, trusted, add_special);
}

uint32_t Tokenizer::n_vocab() const { return impl_->n_vocab(); }

std::string_view Tokenizer::token_bytes(Token id) const {
  return id >= 0 && static_cast<uint32_t>(id) < n_vocab() ? impl_->piece(id) : std::string_view();
}

uint32_t Tokenizer::token_attr(Token id) const {
  return id >= 0 && static_cast<uint32_t>(id) < n_vocab() ? impl_->attr(id) : 0;
}

const SpecialTokens& Tokenizer::special() const { return impl_->special(); }

std::string Tokenizer::decode(std::span<const Token> ids, bool with_special) const {
  std::string text;
  StreamDecoder decoder(*this, with_special);
  for (const Token id : ids) decoder.push(id, text);
  decoder.finish(text);
  return text;
}

bool Tokenizer::has_leading_blank() const { return impl_->has_leading_blank(); }

}  // namespace llmrt
