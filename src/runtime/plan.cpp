#include "runtime/plan.h"

#include <algorithm>
#include <vector>

#include "runtime/load_weights.h"

namespace llmrt {
namespace {

constexpr uint32_t kDefaultContext = 8192;
constexpr uint32_t kDefaultRows = 512;
constexpr uint32_t kDefaultSequences = 4;  // a CPU pool holds this many full contexts
// Blocks beyond what running sequences can hold keep prefixes. A pool costs 12 bytes for each, so of a tiny model's blocks no budget
// buys more than these.
constexpr uint32_t kCacheBlocks = uint32_t{1} << 20;

// Bytes the pool may take when nothing was said: memory for a few full contexts, at most a quarter of what is available.
uint64_t default_budget(const KvPoolPlan& pool, uint64_t per_sequence, int64_t available) {
  uint64_t budget = (kFirstBlock + per_sequence * std::min(pool.max_running, kDefaultSequences)) *
                    pool.layout.block_bytes;
  return available < 0 ? budget : std::min(budget, static_cast<uint64_t>(available) / 4);
}

}  // namespace

Result<KvPoolPlan> plan_kv_pool(const Backend& backend, const ModelDef& def,
                                const MemoryOptions& options) {
  KvPoolPlan pool;
  const uint32_t trained = def.hparams.n_ctx_train;
  pool.ctx_tokens = options.ctx_tokens
                        ? options.ctx_tokens
                        : std::min(trained ? trained : kDefaultContext, kDefaultContext);
  pool.max_rows = options.max_batch ? options.max_batch : kDefaultRows;
  pool.max_running = std::min(options.max_running, pool.max_rows);

  KvConfig config;
  config.codec = options.kv;
  config.block_tokens = options.block_tokens;
  config.n_blocks = kMostBlocks;
  const auto& groups = def.program.kv_groups;
  std::vector<uint64_t> block_bytes;
  block_bytes.reserve(groups.size());
  for (const KvGroup& group : groups)
    block_bytes.push_back(backend.kv_geometry(group, config).block_bytes);
  LLMRT_ASSIGN(pool.layout, make_kv_layout(groups, config, block_bytes));
  const uint64_t bytes = pool.layout.block_bytes;
  const uint64_t per_sequence = pool.layout.worst_blocks(pool.ctx_tokens, pool.max_rows);
  pool.needed = (kFirstBlock + pool.layout.worst_blocks(1, 1)) * bytes;
  pool.budget = options.kv_budget >= 0
                    ? static_cast<uint64_t>(options.kv_budget)
                    : default_budget(pool, per_sequence, backend.info().memory.free);

  const uint64_t of_use =
      kFirstBlock + std::max<uint64_t>(per_sequence * pool.max_running, kCacheBlocks);
  pool.layout.n_blocks = static_cast<uint32_t>(
      std::min({std::max(pool.budget, pool.needed) / bytes, of_use, uint64_t{kMostBlocks}}));
  if (options.ctx_tokens == 0 && pool.fits())
    pool.ctx_tokens = pool.layout.longest_sequence(pool.ctx_tokens);
  return pool;
}

Result<MemoryPlan> plan_memory(const Backend& backend, const ModelDef& def,
                               const PlanRequest& request) {
  MemoryPlan plan;
  LLMRT_ASSIGN(const KvPoolPlan pool, plan_kv_pool(backend, def, request));
  plan.ctx_tokens = pool.ctx_tokens;
  plan.available = backend.info().memory.free;
  plan.weights = kept_weight_bytes(backend, def.program, request.raw_weights);
  const auto block_bytes = static_cast<int64_t>(pool.layout.block_bytes);
  plan.kv_per_token = block_bytes * pool.layout.n_groups() / pool.layout.block_tokens;
  plan.n_blocks = pool.layout.n_blocks;
  plan.kv = int64_t{plan.n_blocks} * block_bytes;

  CompileOptions compile;
  compile.max_rows = pool.max_rows;
  compile.max_out = max_out_rows(pool.max_running);
  compile.max_seqs = pool.max_running;
  compile.max_positions = plan.ctx_tokens;
  compile.raw_weights = request.raw_weights;
  plan.compute = static_cast<int64_t>(backend.compute_bytes(def.program, compile));
  plan.host_total = plan.weights + plan.kv + plan.compute;

  int64_t limit = plan.available >= 0 ? plan.available : INT64_MAX;
  if (request.memory_limit > 0) limit = std::min(limit, request.memory_limit);
  plan.fits = pool.fits() && plan.host_total <= limit;
  KvLayout rest = pool.layout;  // a pool of all that weights and compute leave
  const int64_t for_kv = limit - plan.weights - plan.compute;
  rest.n_blocks =
      static_cast<uint32_t>(std::clamp<int64_t>(for_kv / block_bytes, kFirstBlock, kMostBlocks));
  // beyond what the model was trained for only if that was asked for
  const uint32_t trained = std::max(def.hparams.n_ctx_train, 1u);
  plan.max_ctx_that_fits = rest.longest_sequence(std::max(trained, plan.ctx_tokens));
  return plan;
}

}  // namespace llmrt
