// Three prices of checking. None of them ever fires because of a file, a user or an option: those are Status.
//   LLMRT_ASSERT      debug builds: a promise inside one function
//   kExpensiveChecks  `checked` preset and fuzzers: whole-structure validate() after each step
//   static_assert     beside every on-disk struct
#pragma once

#if defined(LLMRT_CHECKED) || !defined(NDEBUG)
#define LLMRT_ASSERT(cond) ((cond) ? (void)0 : __builtin_trap())
#else
#define LLMRT_ASSERT(cond) ((void)sizeof((cond) ? 1 : 0))
#endif

namespace llmrt {
#if defined(LLMRT_CHECKED)
inline constexpr bool kExpensiveChecks = true;
#else
inline constexpr bool kExpensiveChecks = false;
#endif
}  // namespace llmrt
