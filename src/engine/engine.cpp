// Engine::create: defaults of rules.md 4, and the KV pool's size.
#include <algorithm>

#include "engine/engine_front.h"
#include "engine/limits.h"

namespace llmrt {
namespace {

constexpr uint32_t kDefaultContext = 8192;
constexpr uint32_t kDefaultRows = 512;
constexpr uint32_t kDefaultSequences = 4;  // a CPU pool holds this many full contexts

Status check_options(const EngineOptions& options, const LoadedModel& model) {
  if (!model.backend)
    return error(Code::unsupported,
                 "the model was loaded with metadata_only: it has no weights to run")
        .at("metadata_only");
  LLMRT_TRY(check(limits::kCtxTokens, options.ctx_tokens));
  LLMRT_TRY(check(limits::kMaxRunning, options.max_running));
  LLMRT_TRY(check(limits::kMaxBatch, options.max_batch));
  LLMRT_TRY(check(limits::kPrefillChunk, options.prefill_chunk));
  LLMRT_TRY(check_block_tokens(options.block_tokens));
  LLMRT_TRY(check(limits::kBatchWaitUs, options.batch_wait_us));
  LLMRT_TRY(check(limits::kQueueLimit, options.queue_limit));
  return check(limits::kKvBudget, options.kv_budget);
}

// Bytes the pool may take when nothing was said: memory for a few full contexts, at most a quarter of what is available.
uint64_t default_budget(const EngineOptions& options, const KvLayout& shape,
                        const DeviceInfo& device) {
  const uint64_t per_sequence = shape.worst_blocks(options.ctx_tokens, options.max_batch);
  uint64_t budget =
      (kFirstBlock + per_sequence * std::min(options.max_running, kDefaultSequences)) *
      shape.block_bytes;
  for (int64_t limit : {device.memory_free, device.memory_budget}) {
    if (limit >= 0) budget = std::min(budget, static_cast<uint64_t>(limit) / 4);
  }
  return budget;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const LoadedModel> model,
                                               const EngineOptions& wanted) {
  LLMRT_TRY(check_options(wanted, *model));
  EngineOptions options = wanted;
  const uint32_t n_ctx_train = model->def.hparams.n_ctx_train;
  if (options.ctx_tokens == 0)
    options.ctx_tokens = std::min(n_ctx_train > 0 ? n_ctx_train : kDefaultContext, kDefaultContext);
  if (options.max_batch == 0) options.max_batch = kDefaultRows;
  options.max_running =
      std::min(options.max_running,
               options.max_batch);  // each running sequence can have a row in every pass

  KvConfig config;
  config.codec = options.kv;
  config.block_tokens = options.block_tokens;
  config.n_blocks = UINT32_MAX >> 8;
  const auto& groups = model->def.program.kv_groups;
  std::vector<uint64_t> block_bytes;
  for (const KvGroup& group : groups)
    block_bytes.push_back(model->backend->kv_geometry(group, config).block_bytes);
  LLMRT_ASSIGN(const KvLayout shape, make_kv_layout(groups, config, block_bytes));
  const uint64_t budget = options.kv_budget >= 0
                              ? static_cast<uint64_t>(options.kv_budget)
                              : default_budget(options, shape, model->backend->info());
  const uint64_t needed = (kFirstBlock + shape.worst_blocks(1, 1)) * shape.block_bytes;
  if (budget < needed)
    return error(Code::memory_budget,
                 "the KV budget is %llu bytes, the smallest request needs %llu",
                 static_cast<unsigned long long>(budget), static_cast<unsigned long long>(needed))
        .at("kv_budget");
  config.n_blocks =
      static_cast<uint32_t>(std::min<uint64_t>(budget / shape.block_bytes, uint64_t{1} << 26));
  LLMRT_ASSIGN(const KvLayout layout, make_kv_layout(groups, config, block_bytes));
  options.kv_budget = static_cast<int64_t>(layout.n_blocks * layout.block_bytes);
  if (wanted.ctx_tokens == 0) options.ctx_tokens = layout.longest_sequence(options.ctx_tokens);

  LLMRT_ASSIGN(std::unique_ptr<EngineImpl> engine,
               EngineImpl::create(std::move(model), options, layout));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace llmrt
