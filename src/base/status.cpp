#include "base/status.h"

#include <cstdarg>
#include <cstdio>

namespace llmrt {

Status::Status(Code code, std::string message)
    : code_(code), detail_(std::make_unique<ErrorDetail>()) {
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
