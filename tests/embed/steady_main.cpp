// A step in steady state takes no memory: decoding, with the whole default sampler chain and its text read as it comes, through the
// library as shipped. (What may take memory, and when: tests/engine/steady_state_main.cpp. Here all of that is over with the prompt.)
#include "counting_allocator.h"
#include "embed_support.h"

using namespace embed;

int main() {
  constexpr int kFrom = 40, kTo = 240;
  llmrt_runtime_options ro;
  llmrt_runtime_options_init(&ro, sizeof ro);
  count_allocations(ro);
  llmrt_runtime* runtime = nullptr;
  llmrt_model* model = nullptr;
  llmrt_engine* engine = nullptr;
  llmrt_request* request = nullptr;
  llmrt_engine_options eo;
  llmrt_engine_options_init(&eo, sizeof eo);
  eo.threading = 1;
  llmrt_gen_options go;
  llmrt_gen_options_init(&go, sizeof go);  // the whole default sampler chain
  go.max_tokens = 300;
  go.ignore_eos = 1;
  const std::vector<int32_t> prompt = some_tokens(40, 500);
  if (llmrt_runtime_create(&ro, &runtime) ||
      llmrt_model_load(runtime, tiny_model().c_str(), nullptr, &model) ||
      llmrt_engine_create(model, &eo, &engine) ||
      llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &go, &request))
    return std::printf("%s\n", llmrt_last_error()), 1;
  int n_steps = 0, n_allocating = 0;
  int64_t n_taken = 0;
  for (int32_t generated = 0; generated < kTo;) {
    int64_t taken = 0;
    llmrt_usage usage;
    usage.struct_size = sizeof usage;
    do {  // a chunk at a time, to the next token
      const int64_t before = n_allocations.load();
      llmrt_engine_step(engine, 0);
      taken += n_allocations.load() - before;
      llmrt_request_usage(request, &usage);
    } while (usage.generated_tokens == generated);
    llmrt_event event;
    event.struct_size = sizeof event;
    while (llmrt_request_next(request, 0, &event) == LLMRT_OK) {
    }
    generated = usage.generated_tokens;
    if (generated <= kFrom) continue;
    ++n_steps;
    n_allocating += taken > 0;
    n_taken += taken;
  }
  llmrt_request_release(request);
  llmrt_engine_release(engine);
  llmrt_model_release(model);
  llmrt_runtime_release(runtime);
  std::printf("%d of %d decode steps allocated, %lld blocks of memory in all\n", n_allocating,
              n_steps, static_cast<long long>(n_taken));
  return n_steps >= 150 && n_allocating == 0 ? 0 : 1;
}
