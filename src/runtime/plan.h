// Plan: how much memory a model and an engine will take, by the loader's own arithmetic, before any weight is read.
//
//   host_total = weights + kv + compute        (CPU backend; every term is what the allocator will see)
//   kv         = n_blocks * block_bytes        blocks are taken lazily, so this is the ceiling
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "graph/backend.h"
#include "model/architecture.h"
#include "quant/row_codec.h"

namespace llmrt {

// What an engine asks of the plan; the numbers of EngineOptions that decide memory, with rules.md 4's defaults when 0 or -1.
struct PlanRequest {
  uint32_t ctx_tokens = 0;  // per sequence, 0: min(n_ctx_train, 8192)
  uint32_t max_running = 16;
  uint32_t max_rows = 512;
  uint32_t block_tokens = 32;
  KvCodec kv;
  int64_t kv_budget = -1;    // bytes
  int64_t memory_limit = 0;  // host bytes allowed in all, 0: none
};

struct MemoryPlan {
  bool fits = true;
  uint32_t ctx_tokens = 0;         // per sequence, resolved
  uint32_t max_ctx_that_fits = 0;  // one sequence, under the limit and what is available
  uint32_t n_blocks = 0;           // of the KV pool, the two reserved ones included
  uint32_t max_out = 0;            // wanted rows of one pass
  int64_t weights = 0, kv = 0, kv_per_token = 0, compute = 0, host_total = 0;
  int64_t available = 0;  // what the machine or cgroup has free now, -1: unknown
};

// Wanted rows of one pass, so that a pass's logits stay below 32 MiB for a large vocabulary.
uint32_t max_out_rows(uint32_t n_vocab, uint32_t max_rows);

MemoryPlan plan_memory(const Backend& backend, const ModelDef& def, const PlanRequest& request);

// Bytes free for this process: MemAvailable and the cgroup's limit less its use; -1: unknown.
int64_t available_memory();

}  // namespace llmrt
