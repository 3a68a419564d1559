// Monotonic time and deadlines. All timeouts of the library are on this clock.
#pragma once

#include <cstdint>

namespace llmrt {

int64_t now_ns();

// A point in monotonic time; `never` and `at once` (one unit of work, then stop) are its ends.
struct Deadline {
  int64_t at_ns = INT64_MAX;
  static Deadline never() { return {INT64_MAX}; }
  static Deadline at_once() { return {INT64_MIN}; }
  static Deadline after_us(int64_t us) { return {now_ns() + us * 1000}; }
  // A timeout as hosts give it: < 0 is for ever, 0 has passed at once.
  static Deadline after_ms(int32_t ms) { return ms < 0 ? never() : after_us(int64_t{ms} * 1000); }
  bool passed() const { return at_ns != INT64_MAX && (at_ns == INT64_MIN || now_ns() >= at_ns); }
};

inline Deadline earlier(Deadline a, Deadline b) { return a.at_ns < b.at_ns ? a : b; }

}  // namespace llmrt
