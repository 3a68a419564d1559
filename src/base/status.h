// Status, Result: how every fallible function of llmrt answers.
//
// A Status says what went wrong and which thing, once, at the place that knows; callers add nothing they
// did not learn. Bad input (file, user, option) is a Status; a broken promise of ours is LLMRT_ASSERT (check.h).
// Saying what went wrong never fails: without memory for its sentence or place a Status has its code, and what else it had.
// A sentence has at most 200 bytes of ours and the name it is about; kMostMessage bounds both, whatever the name.
// Codes have the numbers of llmrt_status_code in include/llmrt.h (src/api asserts it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace llmrt {

enum class Code : int32_t {
  ok = 0,
  pending = 1,
  end = 2,
  internal = -1,
  invalid_argument = -2,
  out_of_memory = -3,
  not_found = -4,
  io = -5,
  format = -6,
  unsupported = -7,
  busy = -8,
  cancelled = -9,
  timeout = -10,
  buffer_too_small = -11,
  context_full = -12,
  memory_budget = -13,
  device = -14,
  device_lost = -15,
  grammar = -16,
  template_error = -17,
  state_mismatch = -18,
  version = -19,
  closed = -20,
  queue_full = -21,
};

inline constexpr size_t kMostMessage = 511;  // bytes

// Copies text and a NUL into size bytes and returns the length. Of UTF-8 that does not fit the middle is left out, between two code
// points: it is the long name's, and the reason behind it stays.
size_t copy_shortened(char* to, size_t size, std::string_view text) noexcept;

// What llmrt_error_info carries beside the code. line and column count from 1; 0 = not known.
struct ErrorDetail {
  std::string message;
  std::string where;  // file, tensor, key, option, device
  int32_t sys_code = 0;
  int32_t line = 0;
  int32_t column = 0;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(Code code) : code_(code) {}
  Status(Code code, std::string message) noexcept;
  Status(const Status& other) noexcept;
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other) noexcept;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  bool ok() const { return code_ == Code::ok; }
  bool failed() const { return static_cast<int32_t>(code_) < 0; }
  Code code() const { return code_; }
  std::string_view message() const {
    return detail_ ? std::string_view(detail_->message) : std::string_view();
  }
  const ErrorDetail* detail() const {
    return detail_.get();
  }  // nullptr if nothing but the code is known

  Status&& at(std::string_view where) && noexcept;
  Status&& at_line(int32_t line, int32_t column) && noexcept;
  Status&& sys(int32_t sys_code) && noexcept;

 private:
  ErrorDetail* detail_to_fill() noexcept;  // nullptr: no memory

  Code code_ = Code::ok;
  std::unique_ptr<ErrorDetail> detail_;
};

// error(Code::format, "%s: tensor %u has %u dimensions, at most 4 are allowed", ...). Messages name the thing, what was
// found, what is allowed.
Status error(Code code, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)  // NOLINT(google-explicit-constructor)
      : ok_(true) {
    new (&value_) T(std::move(value));
  }
  Result(Status status)  // NOLINT(google-explicit-constructor)
      : ok_(false) {
    new (&status_) Status(std::move(status));
  }
  Result(Result&& other) noexcept : ok_(other.ok_) {
    if (ok_)
      new (&value_) T(std::move(other.value_));
    else
      new (&status_) Status(std::move(other.status_));
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      this->~Result();
      new (this) Result(std::move(other));
    }
    return *this;
  }
  ~Result() {
    if (ok_)
      value_.~T();
    else
      status_.~Status();
  }

  bool ok() const { return ok_; }
  T& value() & { return value_; }
  const T& value() const& { return value_; }
  T&& value() && { return std::move(value_); }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  Status status() && { return ok_ ? Status() : std::move(status_); }
  const Status& status() const& {
    static const Status kOk;
    return ok_ ? kOk : status_;
  }

 private:
  bool ok_;
  union {
    T value_;
    Status status_;
  };
};

}  // namespace llmrt

#define LLMRT_CONCAT_(a, b) a##b
#define LLMRT_CONCAT(a, b) LLMRT_CONCAT_(a, b)

// Returns the failure of a Status expression to the caller.
#define LLMRT_TRY(expr)                                    \
  do {                                                     \
    ::llmrt::Status llmrt_try_status_ = (expr);            \
    if (!llmrt_try_status_.ok()) return llmrt_try_status_; \
  } while (0)

// LLMRT_ASSIGN(Tensor t, table.get("x")): declares t from a Result, or returns its failure.
#define LLMRT_ASSIGN(decl, expr) LLMRT_ASSIGN_(LLMRT_CONCAT(llmrt_result_, __LINE__), decl, expr)
#define LLMRT_ASSIGN_(tmp, decl, expr)           \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  decl = std::move(tmp).value()
