// Plan: how much memory a model and an engine will take, by the loader's own arithmetic, before any weight is read.
//
//   host_total = weights + kv + compute        (CPU backend; every term is what the allocator will see)
//   kv         = n_blocks * block_bytes        blocks are taken lazily, so this is the ceiling
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "graph/backend.h"
#include "kv/kv_layout.h"
#include "model/architecture.h"
#include "quant/row_codec.h"

namespace llmrt {

// The options of an engine that decide how much memory it takes.
struct MemoryOptions {
  uint32_t ctx_tokens = 0;  // per sequence, 0: min(n_ctx_train, 8192)
  uint32_t max_running = 16;
  uint32_t max_batch = 0;  // rows per pass, 0: 512
  uint32_t block_tokens = 32;
  KvCodec kv;
  int64_t kv_budget = -1;  // bytes, -1: automatic
};

struct PlanRequest : MemoryOptions {
  int64_t memory_limit = 0;  // host bytes allowed in all, 0: none
  bool raw_weights = false;  // matrices stay in the file: runtime/load_weights.h
};

// The KV pool of an engine: what the plan tells and the engine makes.
struct KvPoolPlan {
  KvLayout layout;  // of the pool; of the smallest one where the budget is too small
  // resolved: ctx_tokens of 0 is at most what the pool holds; each running sequence can have a row in every pass
  uint32_t ctx_tokens = 0, max_running = 0, max_rows = 0;
  uint64_t budget = 0, needed = 0;  // bytes given, bytes of the smallest pool
  bool fits() const { return budget >= needed; }
};

// Blocks that can never be of use are not counted into the pool, however large the budget is.
Result<KvPoolPlan> plan_kv_pool(const Backend& backend, const ModelDef& def,
                                const MemoryOptions& options);

struct MemoryPlan {
  bool fits = true;
  uint32_t ctx_tokens = 0;         // per sequence, resolved
  uint32_t max_ctx_that_fits = 0;  // one sequence, under the limit and what is available
  uint32_t n_blocks = 0;           // of the KV pool, the two reserved ones included
  int64_t weights = 0, kv = 0, kv_per_token = 0, compute = 0, host_total = 0;
  int64_t available = 0;  // what the device has free for this process now, -1: unknown
};

// Rows of one pass whose logits are wanted: one of each running sequence, and room for a prompt's.
inline uint32_t max_out_rows(uint32_t max_running) { return std::max(max_running, 32u); }

Result<MemoryPlan> plan_memory(const Backend& backend, const ModelDef& def,
                               const PlanRequest& request);

}  // namespace llmrt
