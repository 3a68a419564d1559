// Plan: what a model and an engine will take, before either exists.
#include <algorithm>

#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"
#include "base/float_control.h"
#include "graph/backend_registry.h"

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

llmrt_status llmrt_plan_create(llmrt_runtime* runtime, llmrt_source* source,
                               const llmrt_model_options* model_options,
                               const llmrt_engine_options* engine_options, llmrt_plan** out) {
  return LLMRT_ENTRY_MAKES(out) {
    const FloatScope floats(FloatMode::ieee);
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto s, get(source));
    LLMRT_ASSIGN(const llmrt_model_options mo, read_options(model_options));
    LLMRT_ASSIGN(const ModelOptions m, to_model_options(mo));
    LLMRT_ASSIGN(const llmrt_engine_options eo, read_options(engine_options));
    LLMRT_ASSIGN(const EngineOptions e, to_engine_options(eo));
    LLMRT_ASSIGN(const auto r, runtime_or_default(runtime));
    const SourceParts parts = parts_of(*s);
    LLMRT_ASSIGN(const auto weights, open_weights(parts.first, parts.shards, m.metadata_overrides));
    LLMRT_ASSIGN(const ModelDef def, define_model(*weights));
    LLMRT_ASSIGN(const auto backend, make_backend(r->host(), m.devices, m.backend_options));
    auto plan = std::make_shared<PlanObject>();
    const bool raw = m.load_mode == LoadMode::raw && backend->packed_layout() != 0;
    LLMRT_ASSIGN(plan->plan, plan_memory(*backend, def, PlanRequest{e, m.host_memory_limit, raw}));
    const std::vector<std::string> ids = device_ids(builtin_backends());
    plan->device =
        static_cast<int32_t>(std::find(ids.begin(), ids.end(), backend->info().id) - ids.begin());
    *out = make_handle<llmrt_plan>(std::move(plan));
    return Status();
  };
}

void llmrt_plan_release(llmrt_plan* plan) {
  LLMRT_ENTRY_VOID { release(plan); };
}

llmrt_status llmrt_plan_get_info(const llmrt_plan* plan, llmrt_plan_info* out) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto p, get(plan));
    LLMRT_TRY(check_out(out));
    const MemoryPlan& m = p->plan;
    llmrt_plan_info info = {};
    info.fits = m.fits ? 1 : 0;
    info.n_devices = 1;
    info.ctx_tokens = static_cast<int32_t>(m.ctx_tokens);
    info.max_ctx_that_fits = static_cast<int32_t>(m.max_ctx_that_fits);
    info.weights = m.weights;
    info.kv = m.kv;
    info.kv_per_token = m.kv_per_token;
    info.compute = m.compute;
    info.host_total = m.host_total;
    return write_out(info, out);
  };
}

llmrt_status llmrt_plan_get_device(const llmrt_plan* plan, int32_t i, llmrt_plan_device* out) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto p, get(plan));
    LLMRT_TRY(check_out(out));
    if (i != 0) return error(Code::not_found, "plan device %d: there is 1", i);
    const MemoryPlan& m = p->plan;
    llmrt_plan_device info = {};
    info.device = p->device;
    info.weights = m.weights;
    info.kv = m.kv;
    info.compute = m.compute;
    info.available = m.available;
    return write_out(info, out);
  };
}

}  // extern "C"
