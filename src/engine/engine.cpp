// Engine::create: options, and the KV pool that the plan tells.
#include "base/float_control.h"
#include "engine/engine_front.h"
#include "engine/limits.h"
#include "runtime/plan.h"

namespace llmrt {
namespace {

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

void log_created(const EngineImpl& engine) {
  const LoadedModel& model = engine.model();
  const EngineOptions& options = engine.options();
  const Host& host = *model.host;
  const uint32_t trained = model.def.hparams.n_ctx_train;
  if (trained > 0 && options.ctx_tokens > trained)
    host.log(LogLevel::warn,
             "ctx_tokens is %u, the model was trained for %u: what it says beyond them may be poor",
             options.ctx_tokens, trained);
  host.log(LogLevel::info,
           "engine created: ctx_tokens %u, max_running %u, max_batch %u, KV at most %lld bytes in "
           "blocks of %u tokens, %u workers, kernels %s",
           options.ctx_tokens, options.max_running, options.max_batch,
           static_cast<long long>(options.kv_budget), options.block_tokens, host.pool().n_workers(),
           model.isa.c_str());
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(std::shared_ptr<const LoadedModel> model,
                                               const EngineOptions& wanted) {
  LLMRT_TRY(check_options(wanted, *model));
  const FloatScope floats(FloatMode::ieee);  // the engine's threads inherit it
  LLMRT_ASSIGN(const KvPoolPlan pool, plan_kv_pool(*model->backend, model->def, wanted));
  if (!pool.fits())
    return error(Code::memory_budget,
                 "the KV budget is %llu bytes, the smallest request needs %llu",
                 static_cast<unsigned long long>(pool.budget),
                 static_cast<unsigned long long>(pool.needed))
        .at("kv_budget");
  EngineOptions options = wanted;
  options.ctx_tokens = pool.ctx_tokens;
  options.max_running = pool.max_running;
  options.max_batch = pool.max_rows;
  options.kv_budget = static_cast<int64_t>(pool.layout.n_blocks * pool.layout.block_bytes);

  LLMRT_ASSIGN(std::unique_ptr<EngineImpl> engine,
               EngineImpl::create(std::move(model), options, pool.layout));
  log_created(*engine);
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace llmrt
