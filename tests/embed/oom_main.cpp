// Every allocation failing in turn: for N = 1, 2, ... the Nth allocation of load + generate + close fails. Each call answers
// ERR_OUT_OF_MEMORY (or works), nothing leaks, and the same work succeeds afterwards. So again with weights out of a file of packed ones,
// and with raw ones, every kSparse-th N.
//
//   oom_main [STRIDE]   with a stride above 1, only every STRIDE-th N beyond 200 is tried
#include "../support/scratch_dir.h"
#include "counting_allocator.h"
#include "embed_support.h"

using namespace embed;

namespace {

constexpr int64_t kSparse = 7;

llmrt_runtime* runtime = nullptr;
std::string path;

struct Way {
  const char* name;
  int32_t load_mode, packed_cache;
};

// The first failing status, or LLMRT_OK; text of the answer in `answer`.
llmrt_status one_life(const Way& way, std::vector<int32_t>& answer) {
  llmrt_model* model = nullptr;
  llmrt_engine* engine = nullptr;
  llmrt_request* request = nullptr;
  llmrt_model_options mo;
  llmrt_model_options_init(&mo, sizeof mo);
  mo.load_mode = way.load_mode;
  mo.packed_cache = way.packed_cache;
  llmrt_engine_options eo;
  llmrt_engine_options_init(&eo, sizeof eo);
  eo.threading = 1;
  llmrt_gen_options go = greedy(6);
  static const std::vector<int32_t> prompt = some_tokens(40, 500);
  llmrt_status s = llmrt_model_load(runtime, path.c_str(), &mo, &model);
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

// Every stride-th allocation of a life fails, of the first n_all every one. False: something is wrong, and said.
bool survives(const Way& way, int64_t n_all, int64_t stride) {
  std::vector<int32_t> want, got;
  for (int i = 0; i < 2;
       ++i)  // the second life shows what stays for good (per-thread text, tables)
    if (one_life(way, want) != LLMRT_OK)
      return std::printf("%s: clean run: %s\n", way.name, llmrt_last_error()), false;
  const int64_t before = n_allocations.load(), settled = in_use.load();
  if (one_life(way, got) != LLMRT_OK || got != want)
    return std::printf("%s: clean run differs\n", way.name), false;
  const int64_t per_life = n_allocations.load() - before;
  if (in_use.load() != settled)
    return std::printf("%s: a clean run leaks %lld bytes\n", way.name,
                       static_cast<long long>(in_use.load() - settled)),
           false;

  int64_t n_tried = 0, n_out_of_memory = 0, n_survived = 0;
  for (int64_t n = 1; n <= per_life; n += n < n_all ? 1 : stride) {
    fail_at.store(n_allocations.load() + n);
    const llmrt_status s = one_life(way, got);
    fail_at.store(-1);
    ++n_tried;
    if (s == LLMRT_ERR_OUT_OF_MEMORY)
      ++n_out_of_memory;
    else if (s == LLMRT_OK && got == want)
      ++n_survived;
    else
      return std::printf("%s: allocation %lld of %lld: status %d, %s\n", way.name,
                         static_cast<long long>(n), static_cast<long long>(per_life), s,
                         llmrt_last_error()),
             false;
    if (in_use.load() != settled)
      return std::printf("%s: allocation %lld of %lld: %lld bytes leaked\n", way.name,
                         static_cast<long long>(n), static_cast<long long>(per_life),
                         static_cast<long long>(in_use.load() - settled)),
             false;
  }
  if (one_life(way, got) != LLMRT_OK || got != want)
    return std::printf("%s: afterwards: %s\n", way.name, llmrt_last_error()), false;
  std::printf(
      "%s: %lld of %lld allocations failed in turn: %lld ERR_OUT_OF_MEMORY, %lld survived, no byte "
      "leaked\n",
      way.name, static_cast<long long>(n_tried), static_cast<long long>(per_life),
      static_cast<long long>(n_out_of_memory), static_cast<long long>(n_survived));
  return n_out_of_memory > 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t stride = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  path = tiny_model();
  const llmrt::test::ScratchDir folder;
  llmrt_runtime_options ro;
  llmrt_runtime_options_init(&ro, sizeof ro);
  count_allocations(ro);
  ro.worker_threads = 1;
  ro.cache_dir = folder.path().c_str();
  if (llmrt_runtime_create(&ro, &runtime) != LLMRT_OK)
    return std::printf("runtime: %s\n", llmrt_last_error()), 1;
  const bool good = survives({"packed", 0, 0}, 200, stride) &&
                    survives({"kept in a file", 0, 1}, 0, std::max(stride, kSparse)) &&
                    survives({"raw", 3, 0}, 0, std::max(stride, kSparse));
  llmrt_runtime_release(runtime);
  return good ? 0 : 1;
}
