// What the numbers of engine and generation options may be, in one table: the engine checks against it, and so does the C API before it
// narrows a number. (Those of sampling: sampling/params.cpp.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/limit.h"
#include "graph/kv_spec.h"

namespace llmrt {

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

inline Status check_block_tokens(int64_t value) {
  if (is_block_tokens(value)) return {};
  return refuse("block_tokens", std::to_string(value), "16, 32 and 64");
}

// Of a prompt with more tokens than a sequence may have.
inline Status prompt_too_long(size_t n_tokens, uint32_t ctx_tokens) {
  return error(Code::context_full,
               "the prompt has %zu tokens, the context holds %u; raise ctx_tokens", n_tokens,
               ctx_tokens)
      .at("ctx_tokens");
}

}  // namespace llmrt
