#include "api/guard.h"

#include <atomic>

#include "base/platform/process.h"

namespace llmrt::api {
namespace {

constinit thread_local ErrorRecord record_of_thread{};
constinit thread_local int32_t callback_depth = 0;
constinit std::atomic<bool> is_forked{false};

}  // namespace

ErrorRecord& error_record() noexcept { return record_of_thread; }

void record(Code code, const char* message) noexcept {
  ErrorRecord& r = record_of_thread;
  r.status = static_cast<int32_t>(code);
  r.sys_code = r.line = r.column = 0;
  r.where[0] = '\0';
  copy_shortened(r.message, sizeof r.message, message);
}

void record(const Status& failure) noexcept {
  ErrorRecord& r = record_of_thread;
  const ErrorDetail* detail = failure.detail();
  record(failure.code(), detail ? detail->message.c_str() : sentence_of(failure.code()));
  if (!detail) return;
  r.sys_code = detail->sys_code;
  r.line = detail->line;
  r.column = detail->column;
  copy_shortened(r.where, sizeof r.where, detail->where);
}

bool forked() noexcept { return is_forked.load(std::memory_order_relaxed); }

void watch_fork() noexcept {
  static constinit std::atomic<bool> watching{false};
  if (!watching.exchange(true))
    platform::run_in_forked_child([] { is_forked.store(true, std::memory_order_relaxed); });
}

bool in_callback() noexcept { return callback_depth > 0; }
CallbackScope::CallbackScope() noexcept { ++callback_depth; }
CallbackScope::~CallbackScope() { --callback_depth; }

Code may_enter(bool outside_callbacks) noexcept {
  if (forked()) {
    record(Code::closed,
           "this process was forked from one that used llmrt: handles do not survive fork()");
    return Code::closed;
  }
  if (outside_callbacks && in_callback()) {
    record(Code::busy,
           "a call that makes, starts, waits or steers is not allowed inside a callback");
    return Code::busy;
  }
  return Code::ok;
}

const char* name_of(Code code) noexcept {
  switch (code) {
    case Code::ok:
      return "OK";
    case Code::pending:
      return "PENDING";
    case Code::end:
      return "END";
    case Code::internal:
      return "ERR_INTERNAL";
    case Code::invalid_argument:
      return "ERR_INVALID_ARGUMENT";
    case Code::out_of_memory:
      return "ERR_OUT_OF_MEMORY";
    case Code::not_found:
      return "ERR_NOT_FOUND";
    case Code::io:
      return "ERR_IO";
    case Code::format:
      return "ERR_FORMAT";
    case Code::unsupported:
      return "ERR_UNSUPPORTED";
    case Code::busy:
      return "ERR_BUSY";
    case Code::cancelled:
      return "ERR_CANCELLED";
    case Code::timeout:
      return "ERR_TIMEOUT";
    case Code::buffer_too_small:
      return "ERR_BUFFER_TOO_SMALL";
    case Code::context_full:
      return "ERR_CONTEXT_FULL";
    case Code::memory_budget:
      return "ERR_MEMORY_BUDGET";
    case Code::device:
      return "ERR_DEVICE";
    case Code::device_lost:
      return "ERR_DEVICE_LOST";
    case Code::grammar:
      return "ERR_GRAMMAR";
    case Code::template_error:
      return "ERR_TEMPLATE";
    case Code::state_mismatch:
      return "ERR_STATE_MISMATCH";
    case Code::version:
      return "ERR_VERSION";
    case Code::closed:
      return "ERR_CLOSED";
    case Code::queue_full:
      return "ERR_QUEUE_FULL";
  }
  return "?";
}

const char* sentence_of(Code code) noexcept {
  switch (code) {
    case Code::ok:
    case Code::pending:
    case Code::end:
      return "";
    case Code::internal:
      return "an error inside the library, which is a bug of it";
    case Code::invalid_argument:
      return "an argument has a value that is not allowed";
    case Code::out_of_memory:
      return "out of memory";
    case Code::not_found:
      return "there is no such thing";
    case Code::io:
      return "reading or writing failed";
    case Code::format:
      return "the data is not of the form it must have";
    case Code::unsupported:
      return "this library or this object cannot do it";
    case Code::busy:
      return "other work is under way; the call may be tried again when it is done";
    case Code::cancelled:
      return "it was cancelled before it was done";
    case Code::timeout:
      return "it took longer than it was given";
    case Code::buffer_too_small:
      return "the buffer is too small";
    case Code::context_full:
      return "the context holds no more tokens";
    case Code::memory_budget:
      return "it does not fit into the memory allowed";
    case Code::device:
      return "the device failed";
    case Code::device_lost:
      return "the device is gone; make a new engine";
    case Code::grammar:
      return "the grammar allows no token here";
    case Code::template_error:
      return "the chat template failed";
    case Code::state_mismatch:
      return "the saved state belongs to another model or engine";
    case Code::version:
      return "the versions of header and library do not fit";
    case Code::closed:
      return "the object is closed";
    case Code::queue_full:
      return "too many requests wait already";
  }
  return "an unknown status";
}

}  // namespace llmrt::api
