// Limits: what the numbers of engine and generation options may be, in one table: the engine checks against it, and so does the C API
// before it narrows a number. (Those of sampling: sampling/params.h.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace llmrt {

struct Limit {
  const char* name;
  int64_t least, most;  // kNoMost: as large as the type allows
};
inline constexpr int64_t kNoMost = INT64_MAX;

namespace limits {

inline constexpr int32_t kMostRows = 4096;
inline constexpr size_t kMostStops = 64, kLongestStop = 1024;  // strings, bytes of one

inline constexpr Limit kCtxTokens = {"ctx_tokens", 0, 1 << 22};
inline constexpr Limit kMaxRunning = {"max_running", 1, 1024};
inline constexpr Limit kMaxBatch = {"max_batch", 0, kMostRows};
inline constexpr Limit kPrefillChunk = {"prefill_chunk", 0, kMostRows};
inline constexpr Limit kKvBudget = {"kv_budget", -1, kNoMost};
inline constexpr Limit kBatchWaitUs = {"batch_wait_us", 0, 10'000'000};
inline constexpr Limit kQueueLimit = {"queue_limit", 1, 1 << 20};

inline constexpr Limit kMaxTokens = {"max_tokens", -1, kNoMost};
inline constexpr Limit kSamples = {"n", 1, 1024};
inline constexpr Limit kSeed = {"seed", -1, kNoMost};
inline constexpr Limit kTimeoutMs = {"timeout_ms", 0, kNoMost};
inline constexpr Limit kStallTimeoutMs = {"stall_timeout_ms", 0, kNoMost};

inline constexpr Limit kTrimLevel = {"level", 1, 3};

}  // namespace limits

// "kv_budget is -7; allowed: -1 and up", "max_running is 0; allowed: 1 to 1024": the one form in which a value is refused.
Status refuse(std::string_view name, std::string_view found, std::string_view allowed);
Status check(const Limit& limit, int64_t value);
Status check_block_tokens(int64_t value);

}  // namespace llmrt
