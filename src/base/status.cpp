#include "base/status.h"

#include <cstdarg>
#include <cstdio>

#include "base/utf8.h"

namespace llmrt {

size_t copy_shortened(char* to, size_t size, std::string_view text) noexcept {
  constexpr std::string_view kGap = " ... ";
  // the two ends that stay: [0, head) and [tail, text.size())
  size_t head = text.size(), tail = text.size();
  if (text.size() >= size) {
    head = (size - 1 - kGap.size()) / 2;
    tail = text.size() - head;
    while (head > 0 && is_continuation(text[head])) --head;
    while (tail < text.size() && is_continuation(text[tail])) ++tail;
  }
  size_t n = text.copy(to, head);
  if (tail < text.size()) {
    n += kGap.copy(to + n, kGap.size());
    n += text.copy(to + n, text.size() - tail, tail);
  }
  to[n] = '\0';
  return n;
}

Status::Status(Code code, std::string message) noexcept : code_(code) {
  ErrorDetail* detail = detail_to_fill();
  if (!detail) return;
  if (message.size() > kMostMessage) {
    char kept[kMostMessage + 1];
    message.assign(kept, copy_shortened(kept, sizeof kept, message));
  }
  detail->message = std::move(message);
}

Status::Status(const Status& other) noexcept : code_(other.code_) {
  if (!other.detail_) return;
  try {
    detail_ = std::make_unique<ErrorDetail>(*other.detail_);
  } catch (const std::bad_alloc&) {
  }
}

Status& Status::operator=(const Status& other) noexcept {
  if (this != &other) *this = Status(other);
  return *this;
}

ErrorDetail* Status::detail_to_fill() noexcept {
  if (!detail_) detail_.reset(new (std::nothrow) ErrorDetail);
  return detail_.get();
}

Status&& Status::at(std::string_view where) && noexcept {
  try {
    if (ErrorDetail* detail = detail_to_fill()) detail->where = where;
  } catch (const std::bad_alloc&) {
  }
  return std::move(*this);
}

Status&& Status::at_line(int32_t line, int32_t column) && noexcept {
  if (ErrorDetail* detail = detail_to_fill()) {
    detail->line = line;
    detail->column = column;
  }
  return std::move(*this);
}

Status&& Status::sys(int32_t sys_code) && noexcept {
  if (ErrorDetail* detail = detail_to_fill()) detail->sys_code = sys_code;
  return std::move(*this);
}

Status error(Code code, const char* format, ...) noexcept {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  const int n = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string text;
  try {
    text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  } catch (const std::bad_alloc&) {
  }
  if (!text.empty()) std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text.empty() ? Status(code) : Status(code, std::move(text));
}

}  // namespace llmrt
