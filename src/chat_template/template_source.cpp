#include "chat_template/template_source.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

Result<Source> Source::make(std::string_view text) {
  if (text.size() > kMaxTemplateSize)
    return error(Code::template_error, "chat template has %zu bytes, at most %zu are allowed",
                 text.size(), kMaxTemplateSize);
  Source source;
  source.text_.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      source.text_ += text[i];
      continue;
    }
    source.text_ += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  source.line_starts_.push_back(0);
  for (size_t i = 0; i < source.text_.size(); ++i)
    if (source.text_[i] == '\n') source.line_starts_.push_back(static_cast<uint32_t>(i + 1));
  const size_t bad = utf8_error_offset(source.text_);
  if (bad != std::string::npos) return source.error_at(bad, "bytes that are not UTF-8");
  if (!source.text_.empty() && source.text_.back() == '\n') source.text_.pop_back();
  return source;
}

Source::Place Source::place(size_t at) const {
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), at);
  const auto line = static_cast<int32_t>(next - line_starts_.begin());
  const size_t begin = *(next - 1);
  int32_t column = 1;
  for (size_t i = begin; i < at && i < text_.size(); ++i) column += !is_continuation(text_[i]);
  return {line, column};
}

Status Source::error_at(size_t at, std::string_view sentence) const {
  const Place p = place(at);
  std::string message = phrase("chat template, line ", p.line, ", column ", p.column, ": ");
  message += sentence;
  return error_as_is(at, message);
}

Status Source::error_as_is(size_t at, std::string_view message) const {
  const Place p = place(at);
  return Status(Code::template_error, std::string(message))
      .at("chat template")
      .at_line(p.line, p.column);
}

}  // namespace llmrt::jinja
