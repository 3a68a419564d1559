// Requests: events, results, cancel.
#include <nlohmann/json.hpp>

#include "api/events.h"
#include "api/guard.h"
#include "api/objects.h"
#include "api/options.h"
#include "api/text.h"

namespace llmrt::api {
namespace {

using Json = nlohmann::ordered_json;

Status check_sample(const RequestObject& r, int32_t sample) {
  if (sample >= 0 && sample < r.n_samples) return Status();
  return error(Code::not_found, "sample %d: the request has samples 0 to %d", sample,
               r.n_samples - 1)
      .at("sample");
}

Json logprobs_json(const Request& request, int32_t sample) {
  Json list = Json::array();
  const std::vector<Token> ids = request.tokens(sample);
  size_t i = 0;
  for (const auto& [logprob, top] : request.logprobs(sample)) {
    Json entry = {{"id", i < ids.size() ? ids[i] : -1}, {"logprob", logprob}};
    Json alternatives = Json::array();
    for (const auto& [id, value] : top) alternatives.push_back({{"id", id}, {"logprob", value}});
    entry["top"] = std::move(alternatives);
    list.push_back(std::move(entry));
    ++i;
  }
  return list;
}

}  // namespace
}  // namespace llmrt::api

using namespace llmrt;
using namespace llmrt::api;

extern "C" {

llmrt_status llmrt_request_next(llmrt_request* request, int32_t timeout_ms, llmrt_event* out) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto r, get(request));
    LLMRT_TRY(check_out(out));
    if (r->delivery != Delivery::request_queue)
      return refuse("delivery", std::to_string(static_cast<int>(r->delivery)),
                    "0, for a request whose events are read with llmrt_request_next");
    Event event;
    {
      const std::lock_guard lock(r->mutex);
      event.text.swap(r->event_text);  // its memory is used again
    }
    const Code code = r->request->next(timeout_ms, event);
    const std::lock_guard lock(r->mutex);
    r->event_text.swap(event.text);
    if (code != Code::ok) return Status(code);
    llmrt_event shown = to_event(event, r->event_text, request);
    return write_out(shown, out);
  };
}

llmrt_status llmrt_request_wait(llmrt_request* request, int32_t timeout_ms) {
  return LLMRT_ENTRY_OUTSIDE {
    LLMRT_ASSIGN(const auto r, get(request));
    return r->request->wait(timeout_ms);
  };
}

llmrt_status llmrt_request_cancel(llmrt_request* request, int32_t keep_partial) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto r, get(request));
    r->request->cancel(keep_partial != 0);
    return Status();
  };
}

void llmrt_request_release(llmrt_request* request) {
  LLMRT_ENTRY_VOID { release(request); };
}

llmrt_status llmrt_request_text(const llmrt_request* request, int32_t sample, char** out) {
  return LLMRT_ENTRY_GIVES(out) {
    LLMRT_ASSIGN(const auto r, get(request));
    LLMRT_TRY(need("out", out));
    LLMRT_TRY(check_sample(*r, sample));
    return give_text(r->request->text(sample), out);
  };
}

llmrt_status llmrt_request_tokens(const llmrt_request* request, int32_t sample, int32_t* out,
                                  int32_t cap, int32_t* n) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto r, get(request));
    LLMRT_TRY(check_sample(*r, sample));
    return give_array("out", r->request->tokens(sample), out, cap, n);
  };
}

llmrt_status llmrt_request_message(const llmrt_request* request, int32_t sample, char** out_json) {
  return LLMRT_ENTRY_GIVES(out_json) {
    LLMRT_ASSIGN(const auto r, get(request));
    LLMRT_TRY(need("out_json", out_json));
    LLMRT_TRY(check_sample(*r, sample));
    Json message = {{"role", "assistant"},
                    {"content", r->request->text(sample)},
                    {"finish", llmrt::name_of(r->request->finish(sample))}};
    if (r->wants_logprobs) message["logprobs"] = logprobs_json(*r->request, sample);
    return give_text(message.dump(-1, ' ', false, Json::error_handler_t::replace), out_json);
  };
}

int32_t llmrt_request_finish(const llmrt_request* request, int32_t sample) {
  return LLMRT_ENTRY_COUNT {
    LLMRT_ASSIGN(const auto r, get(request));
    LLMRT_TRY(check_sample(*r, sample));
    return static_cast<int32_t>(r->request->finish(sample));
  };
}

llmrt_status llmrt_request_error(const llmrt_request* request, llmrt_error_info* out) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto r, get(request));
    LLMRT_TRY(check_out(out));
    return lend_failure(*r, r->request->error(), out);
  };
}

llmrt_status llmrt_request_usage(const llmrt_request* request, llmrt_usage* out) {
  return LLMRT_ENTRY {
    LLMRT_ASSIGN(const auto r, get(request));
    LLMRT_TRY(check_out(out));
    const Usage u = r->request->usage();
    llmrt_usage usage = {};
    usage.prompt_tokens = u.prompt_tokens;
    usage.cached_tokens = u.cached_tokens;
    usage.generated_tokens = u.generated_tokens;
    usage.seed = u.seed;
    usage.queue_ms = u.queue_ms;
    usage.prefill_ms = u.prefill_ms;
    usage.decode_ms = u.decode_ms;
    usage.ttft_ms = u.ttft_ms;
    usage.isa = r->core->model().isa.c_str();
    return write_out(usage, out);
  };
}

}  // extern "C"
