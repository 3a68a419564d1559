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

Status::Status(Code code, std::string message)
    : code_(code), detail_(std::make_unique<ErrorDetail>()) {
  if (message.size() > kMostMessage) {
    char kept[kMostMessage + 1];
    message.assign(kept, copy_shortened(kept, sizeof kept, message));
  }
  detail_->message = std::move(message);
}

Status::Status(const Status& other)
    : code_(other.code_),
      detail_(other.detail_ ? std::make_unique<ErrorDetail>(*other.detail_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) {
    auto detail = other.detail_ ? std::make_unique<ErrorDetail>(*other.detail_) : nullptr;
    code_ = other.code_;
    detail_ = std::move(detail);
  }
  return *this;
}

Status&& Status::at(std::string_view where) && {
  if (!detail_) detail_ = std::make_unique<ErrorDetail>();
  detail_->where = where;
  return std::move(*this);
}

Status&& Status::at_line(int32_t line, int32_t column) && {
  if (!detail_) detail_ = std::make_unique<ErrorDetail>();
  detail_->line = line;
  detail_->column = column;
  return std::move(*this);
}

Status&& Status::sys(int32_t sys_code) && {
  if (!detail_) detail_ = std::make_unique<ErrorDetail>();
  detail_->sys_code = sys_code;
  return std::move(*this);
}

Status error(Code code, const char* format, ...) {
  va_list args;
  va_start(args, format);
  va_list again;
  va_copy(again, args);
  const int n = std::vsnprintf(nullptr, 0, format, args);
  va_end(args);
  std::string text(n > 0 ? static_cast<size_t>(n) : 0, '\0');
  if (n > 0) std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return Status(code, std::move(text));
}

}  // namespace llmrt
