// Every allocation failing in turn: for N = 1, 2, ... the Nth allocation of load + generate + close fails. Each call answers
// ERR_OUT_OF_MEMORY (or works), nothing leaks, and the same work succeeds afterwards.
//
//   oom_main [STRIDE]   with a stride above 1, only every STRIDE-th N beyond 200 is tried
#include "counting_allocator.h"
#include "embed_support.h"

using namespace embed;

namespace {

llmrt_runtime* runtime = nullptr;
std::string path;

// The first failing status, or LLMRT_OK; text of the answer in `answer`.
llmrt_status one_life(std::vector<int32_t>& answer) {
  llmrt_model* model = nullptr;
  llmrt_engine* engine = nullptr;
  llmrt_request* request = nullptr;
  llmrt_engine_options eo;
  llmrt_engine_options_init(&eo, sizeof eo);
  eo.threading = 1;
  llmrt_gen_options go = greedy(6);
  static const std::vector<int32_t> prompt = some_tokens(40, 500);
  llmrt_status s = llmrt_model_load(runtime, path.c_str(), nullptr, &model);
  if (s == LLMRT_OK) s = llmrt_engine_create(model, &eo, &engine);
  if (s == LLMRT_OK) s = llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &go, &request);
  if (s == LLMRT_OK) s = llmrt_request_wait(request, -1);
  answer.assign(64, 0);
  int32_t n = 0;
  if (s == LLMRT_OK) s = llmrt_request_tokens(request, 0, answer.data(), 64, &n);
  answer.resize(static_cast<size_t>(n));
  char* text = nullptr;
  if (s == LLMRT_OK) s = llmrt_request_text(request, 0, &text);
  llmrt_free(text);
  llmrt_request_release(request);
  llmrt_engine_release(engine);
  llmrt_model_release(model);
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t stride = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  path = tiny_model();
  llmrt_runtime_options ro;
  llmrt_runtime_options_init(&ro, sizeof ro);
  count_allocations(ro);
  ro.worker_threads = 1;
  if (llmrt_runtime_create(&ro, &runtime) != LLMRT_OK)
    return std::printf("runtime: %s\n", llmrt_last_error()), 1;

  std::vector<int32_t> want, got;
  for (int i = 0; i < 2;
       ++i)  // the second life shows what stays for good (per-thread text, tables)
    if (one_life(want) != LLMRT_OK) return std::printf("clean run: %s\n", llmrt_last_error()), 1;
  const int64_t before = n_allocations.load(), settled = in_use.load();
  if (one_life(got) != LLMRT_OK || got != want) return std::printf("clean run differs\n"), 1;
  const int64_t per_life = n_allocations.load() - before;
  if (in_use.load() != settled)
    return std::printf("a clean run leaks %lld bytes\n",
                       static_cast<long long>(in_use.load() - settled)),
           1;

  int64_t n_tried = 0, n_out_of_memory = 0, n_survived = 0;
  for (int64_t n = 1; n <= per_life; n += n < 200 ? 1 : stride) {
    fail_at.store(n_allocations.load() + n);
    const llmrt_status s = one_life(got);
    fail_at.store(-1);
    ++n_tried;
    if (s == LLMRT_ERR_OUT_OF_MEMORY)
      ++n_out_of_memory;
    else if (s == LLMRT_OK && got == want)
      ++n_survived;
    else
      return std::printf("allocation %lld of %lld: status %d, %s\n", static_cast<long long>(n),
                         static_cast<long long>(per_life), s, llmrt_last_error()),
             1;
    if (in_use.load() != settled)
      return std::printf("allocation %lld of %lld: %lld bytes leaked\n", static_cast<long long>(n),
                         static_cast<long long>(per_life),
                         static_cast<long long>(in_use.load() - settled)),
             1;
  }
  if (one_life(got) != LLMRT_OK || got != want)
    return std::printf("afterwards: %s\n", llmrt_last_error()), 1;
  llmrt_runtime_release(runtime);
  std::printf(
      "%lld of %lld allocations failed in turn: %lld ERR_OUT_OF_MEMORY, %lld survived, no byte "
      "leaked\n",
      static_cast<long long>(n_tried), static_cast<long long>(per_life),
      static_cast<long long>(n_out_of_memory), static_cast<long long>(n_survived));
  return n_out_of_memory > 0 ? 0 : 1;
}
