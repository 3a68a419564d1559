#include "tokenizer/stream_decoder.h"

#include "tokenizer/unicode.h"

namespace llmrt {

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, bool with_special, bool at_start)
    : tokenizer_(&tokenizer),
      with_special_(with_special),
      at_start_(at_start && tokenizer.has_leading_blank()) {}

void StreamDecoder::push(Token id, std::string& out) {
  if (!with_special_ && (tokenizer_->token_attr(id) & kTokenControl) != 0) return;
  std::string_view bytes = tokenizer_->token_bytes(id);
  if (bytes.empty()) return;
  if (at_start_ && bytes.front() == ' ') bytes.remove_prefix(1);
  at_start_ = false;
  utf8_release(held_, bytes, out);
}

void StreamDecoder::finish(std::string& out) {
  if (!held_.empty()) out += "\xEF\xBF\xBD";
  held_.clear();
}

}  // namespace llmrt
