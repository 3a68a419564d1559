// Guard: what stands between the C functions and the code behind them. Every exported function's body is one entry:
//
//   llmrt_status llmrt_engine_pause(llmrt_engine* engine) {
//     return LLMRT_ENTRY_OUTSIDE {
//       LLMRT_ASSIGN(const auto e, get(engine));
//       return e->core->engine().pause();
//     };
//   }
//
// An entry refuses to work after fork() (ERR_CLOSED), turns exceptions into codes (bad_alloc: ERR_OUT_OF_MEMORY) and keeps the
// sentence of a failure in the thread's error record. The record is plain memory of fixed size: recording cannot fail.
//
//   LLMRT_ENTRY           may run inside a callback: reads, tokenizes, renders, cancels
//   LLMRT_ENTRY_OUTSIDE   makes, starts, waits or steers: ERR_BUSY inside a callback
//   LLMRT_ENTRY_GIVES(out), LLMRT_ENTRY_MAKES(out)  the same two for functions that hand something out: *out (if there is an out) is
//                         nullptr first of all, so that it never holds what the caller had there
//   LLMRT_ENTRY_COUNT     returns a number, negative: the status
//   LLMRT_ENTRY_VALUE(type, fallback)  returns a pointer or flags, fallback after a failure
//   LLMRT_ENTRY_VOID      returns nothing: the releases
//   LLMRT_ENTRY_PURE      constant answers and defaults: no checks, cannot fail
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "llmrt.h"

namespace llmrt::api {

// The thread's last failure: what llmrt_last_error_info shows. A place that is longer than the record loses its middle.
struct ErrorRecord {
  int32_t status, sys_code, line, column;
  char message[kMostMessage + 1];
  char where[256];
};
ErrorRecord& error_record() noexcept;
void record(const Status& failure) noexcept;
void record(Code code, const char* message) noexcept;

const char* name_of(Code code) noexcept;  // "ERR_IO"; "?" for a number that is none
// What a status says that brings no sentence of its own.
const char* sentence_of(Code code) noexcept;

// True in a child process of one that used the library.
bool forked() noexcept;
// Called before the first handle or thread exists; more calls do nothing.
void watch_fork() noexcept;

// True while a callback of the host runs on this thread. The one mechanism for it: the rooms below do not ask where they are called
// from.
bool in_callback() noexcept;
class CallbackScope {
 public:
  CallbackScope() noexcept;
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;
};

// ok, or why an entry must not run now.
Code may_enter(bool outside_callbacks) noexcept;

// Runs body; its failure, thrown or returned, is recorded and returned.
template <class Body>
Code run_guarded(bool outside_callbacks, Body&& body) noexcept {
  if (const Code refused = may_enter(outside_callbacks); refused != Code::ok) return refused;
  try {
    const Status status = body();
    if (status.failed()) record(status);
    return status.code();
  } catch (const std::bad_alloc&) {
    record(Code::out_of_memory, sentence_of(Code::out_of_memory));
    return Code::out_of_memory;
  } catch (const std::system_error& e) {
    record(Code::out_of_memory, "the system gives no more threads");
    error_record().sys_code = e.code().value();
    return Code::out_of_memory;
  } catch (const std::exception& e) {
    record(Code::internal, e.what());
    return Code::internal;
  } catch (...) {
    record(Code::internal, "unknown exception");
    return Code::internal;
  }
}

template <class T>
void clear(T** out) noexcept {
  if (out) *out = nullptr;
}

struct StatusEntry {
  bool outside = false;
  template <class Body>
  llmrt_status operator%(Body&& body) const noexcept {
    return static_cast<llmrt_status>(run_guarded(outside, std::forward<Body>(body)));
  }
};

struct CountEntry {
  template <class Body>
  int32_t operator%(Body&& body) const noexcept {
    int32_t n = 0;
    const Code code = run_guarded(false, [&]() -> Status {
      LLMRT_ASSIGN(n, body());
      return Status();
    });
    return code == Code::ok ? n : static_cast<int32_t>(code);
  }
};

template <class T>
struct ValueEntry {
  T fallback;
  template <class Body>
  T operator%(Body&& body) const noexcept {
    T value = fallback;
    const Code code = run_guarded(false, [&]() -> Status {
      LLMRT_ASSIGN(value, body());
      return Status();
    });
    return code == Code::ok ? value : fallback;
  }
};

struct VoidEntry {
  template <class Body>
  void operator%(Body&& body) const noexcept {
    static_cast<void>(run_guarded(false, [&]() -> Status {
      body();
      return Status();
    }));
  }
};

struct PureEntry {
  template <class Body>
  auto operator%(Body&& body) const noexcept {
    return body();
  }
};

}  // namespace llmrt::api

#define LLMRT_ENTRY ::llmrt::api::StatusEntry{false} % [&]() -> ::llmrt::Status
#define LLMRT_ENTRY_OUTSIDE ::llmrt::api::StatusEntry{true} % [&]() -> ::llmrt::Status
#define LLMRT_ENTRY_GIVES(out) ::llmrt::api::clear(out), LLMRT_ENTRY
#define LLMRT_ENTRY_MAKES(out) ::llmrt::api::clear(out), LLMRT_ENTRY_OUTSIDE
#define LLMRT_ENTRY_COUNT ::llmrt::api::CountEntry{} % [&]() -> ::llmrt::Result<int32_t>
#define LLMRT_ENTRY_VALUE(type, fallback) \
  ::llmrt::api::ValueEntry<type>{fallback} % [&]() -> ::llmrt::Result<type>
#define LLMRT_ENTRY_VOID ::llmrt::api::VoidEntry{} % [&]() -> void
#define LLMRT_ENTRY_PURE ::llmrt::api::PureEntry{} % [&]() noexcept
