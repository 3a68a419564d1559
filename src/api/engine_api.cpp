// Engines: create, drive, watch, submit.
#include "api/events.h"
#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"
#include "base/memory.h"
#include "chat/messages.h"
#include "engine/limits.h"

namespace llmrt::api {
namespace {

// Prompt ids to a request's handle.
Status submit_prompt(const std::shared_ptr<EngineCore>& core, std::vector<Token> prompt,
                     GenParams params, const llmrt_gen_options& options, llmrt_request** out) {
  LLMRT_ASSIGN(const Submitted submitted,
               submit_request(core, std::move(params), options, [&](const GenParams& p) {
                 return core->engine().submit(std::move(prompt), p);
               }));
  *out = submitted.handle;
  return Status();
}

void copy_percentiles(const double (&from)[3], double& p50, double& p95, double& p99) {
  p50 = from[0];
  p95 = from[1];
  p99 = from[2];
}

}  // namespace
}  // namespace llmrt::api

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

void llmrt_engine_options_init(llmrt_engine_options* options, size_t struct_size) {
  LLMRT_ENTRY_PURE { init_options(options, struct_size); };
}

llmrt_status llmrt_engine_create(llmrt_model* model, const llmrt_engine_options* options,
                                 llmrt_engine** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto m, get(model));
    LLMRT_ASSIGN(const llmrt_engine_options o, read_options(options));
    LLMRT_ASSIGN(const EngineOptions e, to_engine_options(o));
    LLMRT_ASSIGN(auto core, EngineCore::create(m->model, e, o.overflow == 2));
    *out = make_handle<llmrt_engine>(std::make_shared<EngineObject>(std::move(core)));
    return Status();
  };
}

void llmrt_engine_release(llmrt_engine* engine) {
  LLMRT_ENTRY_VOID { release(engine); };
}

llmrt_status llmrt_engine_step(llmrt_engine* engine, int32_t budget_us) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto e, get(engine));
    return e->core->engine().step(budget_us);
  };
}

llmrt_status llmrt_engine_pause(llmrt_engine* engine) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto e, get(engine));
    return e->core->engine().pause();
  };
}

llmrt_status llmrt_engine_resume(llmrt_engine* engine) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto e, get(engine));
    return e->core->engine().resume();
  };
}

llmrt_status llmrt_engine_trim(llmrt_engine* engine, int32_t level) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto e, get(engine));
    return e->core->engine().trim(level);
  };
}

llmrt_status llmrt_engine_close(llmrt_engine* engine, int32_t timeout_ms) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto e, get(engine));
    LLMRT_TRY(llmrt::check(limits::kTimeoutMs, timeout_ms));
    return e->core->engine().close(timeout_ms);
  };
}

llmrt_status llmrt_engine_metrics(const llmrt_engine* engine, llmrt_metrics* out) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto e, get(engine));
    LLMRT_TRY(check_out(out));
    const EngineMetrics m = e->core->engine().metrics();
    llmrt_metrics o = {};
    o.running = m.running;
    o.waiting = m.waiting;
    o.sessions = e->core->n_sessions.load(std::memory_order_relaxed);
    o.done = m.done;
    o.failed = m.failed;
    o.cancelled = m.cancelled;
    o.prompt_tokens = m.prompt_tokens;
    o.cached_tokens = m.cached_tokens;
    o.generated_tokens = m.generated_tokens;
    o.steps = m.steps;
    o.busy_us = m.busy_us;
    o.preemptions = m.preemptions;
    o.heartbeat = m.heartbeat;
    o.kv_used = m.kv_used;
    o.kv_total = m.kv_total;
    o.weight_bytes = e->core->model().weight_bytes;
    o.host_bytes = allocated_bytes();
    copy_percentiles(m.ttft_ms, o.ttft_ms_p50, o.ttft_ms_p95, o.ttft_ms_p99);
    copy_percentiles(m.itl_ms, o.itl_ms_p50, o.itl_ms_p95, o.itl_ms_p99);
    copy_percentiles(m.queue_ms, o.queue_ms_p50, o.queue_ms_p95, o.queue_ms_p99);
    copy_percentiles(m.e2e_ms, o.e2e_ms_p50, o.e2e_ms_p95, o.e2e_ms_p99);
    o.requests_per_s = m.requests_per_s;
    o.prefill_tps = m.prefill_tps;
    o.decode_tps = m.decode_tps;
    o.batch_mean = m.batch_mean;
    o.busy_share = m.busy_share;
    o.kv_waste = m.kv_waste;
    o.batch_peak = m.batch_peak;
    o.compute_bytes = m.compute_bytes;
    return write_out(o, out);
  };
}

llmrt_status llmrt_evaluate(llmrt_engine* engine, const int32_t* tokens, size_t n, size_t first,
                            float* logits, size_t cap, size_t* n_floats) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto e, get(engine));
    LLMRT_TRY(need("tokens", tokens));
    LLMRT_TRY(need("n_floats", n_floats));
    *n_floats = 0;
    if (n == 0 || n > UINT32_MAX)
      return refuse("n", std::to_string(n), "1 to " + std::to_string(UINT32_MAX));
    if (first >= n) return refuse("first", std::to_string(first), "0 to " + std::to_string(n - 1));
    const size_t n_vocab = e->core->model().def.program.n_vocab;
    *n_floats = (n - first) * n_vocab;
    if (*n_floats > cap)
      return error(Code::buffer_too_small, "cap is %zu floats; allowed: %zu and up", cap, *n_floats)
          .at("cap");
    LLMRT_TRY(need("logits", logits));
    return e->core->engine().evaluate({tokens, n}, static_cast<uint32_t>(first),
                                      {logits, *n_floats});
  };
}

void llmrt_gen_options_init(llmrt_gen_options* options, size_t struct_size) {
  LLMRT_ENTRY_PURE { init_options(options, struct_size); };
}

llmrt_status llmrt_submit_text(llmrt_engine* engine, const char* utf8, size_t len,
                               const llmrt_gen_options* options, llmrt_request** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto e, get(engine));
    LLMRT_ASSIGN(const llmrt_gen_options o, read_options(options));
    LLMRT_ASSIGN(GenParams params, e->core->params_of(o));
    LLMRT_ASSIGN(const std::string_view text, bytes_argument("utf8", utf8, len));
    const LoadedModel& model = e->core->model();
    if (!model.tokenizer)
      return error(Code::unsupported, "the model has no tokenizer; submit tokens");
    LLMRT_ASSIGN(std::vector<Token> ids,
                 model.tokenizer->encode(text, (o.text_flags & 1) == 0, (o.text_flags & 2) != 0));
    if (ids.empty())
      return error(Code::invalid_argument,
                   "utf8 is empty and the model adds no token of its own: nothing to continue")
          .at("utf8");
    return submit_prompt(e->core, std::move(ids), std::move(params), o, out);
  };
}

llmrt_status llmrt_submit_tokens(llmrt_engine* engine, const int32_t* tokens, size_t n,
                                 const llmrt_gen_options* options, llmrt_request** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto e, get(engine));
    LLMRT_ASSIGN(const llmrt_gen_options o, read_options(options));
    LLMRT_ASSIGN(GenParams params, e->core->params_of(o));
    LLMRT_TRY(need("tokens", tokens));
    const uint32_t most = e->core->engine().options().ctx_tokens;
    if (n == 0) return refuse("n", "0", "1 to " + std::to_string(most));
    // Told before the ids are copied: a length out of all proportion is no reason to allocate.
    if (n > most) return prompt_too_long(n, most);
    return submit_prompt(e->core, std::vector<Token>(tokens, tokens + n), std::move(params), o,
                         out);
  };
}

llmrt_status llmrt_submit_chat(llmrt_engine* engine, const char* messages_json,
                               const llmrt_gen_options* options, llmrt_request** out) {
  return LLMRT_ENTRY_MAKES(out) {
    LLMRT_TRY(need("out", out));
    LLMRT_ASSIGN(const auto e, get(engine));
    LLMRT_ASSIGN(const llmrt_gen_options o, read_options(options));
    LLMRT_ASSIGN(GenParams params, e->core->params_of(o));
    ChatInput input;
    input.needs_message = true;
    LLMRT_ASSIGN(input.messages_json, text_argument("messages_json", messages_json));
    LLMRT_ASSIGN(input.tools_json, optional_text("tools_json", o.tools_json));
    LLMRT_ASSIGN(input.kwargs_json, optional_text("template_kwargs", o.template_kwargs));
    const LoadedModel& model = e->core->model();
    LLMRT_TRY(model.check_chat());
    LLMRT_ASSIGN(std::vector<Token> ids,
                 encode_chat(*model.chat_template, *model.tokenizer, input));
    return submit_prompt(e->core, std::move(ids), std::move(params), o, out);
  };
}

llmrt_status llmrt_engine_next(llmrt_engine* engine, int32_t timeout_ms, llmrt_event* out) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto e, get(engine));
    LLMRT_TRY(check_out(out));
    Event event;
    RequestPtr request;
    {
      const std::lock_guard lock(e->core->event_mutex);
      event.text.swap(e->core->event_text);  // its memory is used again
    }
    const Code code = e->core->engine().next(timeout_ms, event, request);
    llmrt_request* handle = code == Code::ok ? e->core->handle_of(request.get()) : nullptr;
    const std::lock_guard lock(e->core->event_mutex);
    e->core->event_text.swap(event.text);
    if (code == Code::closed)
      return error(Code::closed, "the engine is closed and its queue is drained");
    if (code != Code::ok) return Status(code);
    llmrt_event shown = to_event(event, e->core->event_text, handle);
    return write_out(shown, out);
  };
}

}  // extern "C"
