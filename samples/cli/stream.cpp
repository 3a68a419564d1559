#include "stream.h"

#include <algorithm>
#include <cstdio>

namespace cli {

llmrt_status follow(llmrt_request* request, const std::function<void(std::string_view)>& on_text) {
  llmrt_event event;
  event.struct_size = sizeof event;
  bool cancelled = false;
  while (true) {
    const llmrt_status status = llmrt_request_next(request, 50, &event);
    check(status);
    if (status == LLMRT_OK && event.type == LLMRT_EVENT_TEXT && event.sample == 0)
      on_text({event.text, event.text_len});
    if (status == LLMRT_END || (status == LLMRT_OK && event.type == LLMRT_EVENT_DONE)) break;
    if (interrupted() && !cancelled) {
      check(llmrt_request_cancel(request, 1));
      cancelled = true;
    }
  }
  return llmrt_request_wait(request, -1);
}

std::vector<int32_t> tokens_of(llmrt_request* request, int32_t sample) {
  int32_t n = 0;
  if (llmrt_request_tokens(request, sample, nullptr, 0, &n) != LLMRT_ERR_BUFFER_TOO_SMALL)
    return {};
  std::vector<int32_t> ids(static_cast<size_t>(n));
  check(llmrt_request_tokens(request, sample, ids.data(), n, &n));
  return ids;
}

const char* finish_word(llmrt_request* request, int32_t sample) {
  constexpr const char* kWords[] = {"none",      "stop",    "length",  "tool_call",
                                    "cancelled", "timeout", "grammar", "error"};
  const int32_t finish = llmrt_request_finish(request, sample);
  check(finish);
  return kWords[std::min<int32_t>(finish, 7)];
}

llmrt_usage usage_of(llmrt_request* request) {
  llmrt_usage usage;
  usage.struct_size = sizeof usage;
  check(llmrt_request_usage(request, &usage));
  return usage;
}

Json usage_json(llmrt_request* request) {
  const llmrt_usage u = usage_of(request);
  return {{"prompt_tokens", u.prompt_tokens},
          {"cached_tokens", u.cached_tokens},
          {"generated_tokens", u.generated_tokens},
          {"seed", u.seed},
          {"queue_ms", u.queue_ms},
          {"prefill_ms", u.prefill_ms},
          {"decode_ms", u.decode_ms},
          {"ttft_ms", u.ttft_ms},
          {"isa", u.isa}};
}

void print_usage(llmrt_request* request) {
  const llmrt_usage u = usage_of(request);
  const int32_t steps = u.generated_tokens > 1 ? u.generated_tokens - 1 : 0;
  std::fprintf(stderr,
               "[prompt %d tokens (%d cached), first token after %.0f ms; answer %d tokens, %.1f "
               "tokens/s; %s]\n",
               u.prompt_tokens, u.cached_tokens, u.ttft_ms, u.generated_tokens,
               u.decode_ms > 0 ? 1e3 * steps / u.decode_ms : 0.0, finish_word(request, 0));
}

void tell_if_cut(llmrt_request* request, int32_t sample, int32_t max_tokens) {
  if (llmrt_request_finish(request, sample) != LLMRT_FINISH_LENGTH || max_tokens == 0) return;
  const auto n = static_cast<int32_t>(tokens_of(request, sample).size());
  if (max_tokens > 0 && n >= max_tokens)
    std::fprintf(stderr, "(stopped after %d token%s; -n raises it)\n", n, n == 1 ? "" : "s");
  else
    std::fprintf(stderr, "(the context of %d tokens is full; --ctx raises it)\n",
                 usage_of(request).prompt_tokens + n);
}

}  // namespace cli
