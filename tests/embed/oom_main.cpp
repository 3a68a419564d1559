// Every allocation failing in turn: for N = 1, 2, ... the Nth allocation of load + generate + close fails. Each call answers
// ERR_OUT_OF_MEMORY (or works), nothing leaks, and the same work succeeds afterwards. So again with weights out of a file of packed ones,
// with raw ones, and with a file of packed ones that is written in each life, every kSparse-th N; but there each N while it is written,
// and of those none may fail.
//
//   oom_main [STRIDE]   with a stride above 1, only every STRIDE-th N beyond 200 is tried
#include <unistd.h>

#include <filesystem>

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
  bool writes;  // the file, in each life
};

std::string packed_file;  // where a life that writes puts it
// Allocations of a life while the file is written, from its start: those with PATH.tmp there.
int64_t life_began = 0, first_writing = 0, last_writing = 0;

void note_writing(int64_t n) {
  if (::access((packed_file + ".tmp").c_str(), F_OK) != 0) return;
  if (first_writing == 0) first_writing = n - life_began;
  last_writing = n - life_began;
}

// The first failing status, or LLMRT_OK; text of the answer in `answer`.
llmrt_status one_life(const Way& way, std::vector<int32_t>& answer) {
  if (way.writes) ::unlink(packed_file.c_str());
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
  life_began = before;
  first_writing = last_writing = 0;
  if (way.writes) at_allocation = note_writing;
  const llmrt_status clean = one_life(way, got);
  at_allocation = nullptr;
  if (clean != LLMRT_OK || got != want)
    return std::printf("%s: clean run differs\n", way.name), false;
  const int64_t per_life = n_allocations.load() - before;
  if (in_use.load() != settled)
    return std::printf("%s: a clean run leaks %lld bytes\n", way.name,
                       static_cast<long long>(in_use.load() - settled)),
           false;

  if (way.writes && first_writing == 0)
    return std::printf("%s: no file was written\n", way.name), false;

  int64_t n_tried = 0, n_out_of_memory = 0, n_survived = 0;
  const auto next = [&](int64_t n) {
    const int64_t far = n + (n < n_all ? 1 : stride);
    return n < last_writing && far > first_writing ? std::max(n + 1, std::min(far, first_writing))
                                                   : far;
  };
  for (int64_t n = 1; n <= per_life; n = next(n)) {
    fail_at.store(n_allocations.load() + n);
    const llmrt_status s = one_life(way, got);
    fail_at.store(-1);
    ++n_tried;
    if (s != LLMRT_OK && n >= first_writing && n <= last_writing)
      return std::printf("%s: allocation %lld, only for the file, failed the load: status %d\n",
                         way.name, static_cast<long long>(n), s),
             false;
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
  const int64_t sparse = std::max(stride, kSparse);
  bool good = survives({"packed", 0, 0, false}, 200, stride) &&
              survives({"kept in a file", 0, 1, false}, 0, sparse) &&
              survives({"raw", 3, 0, false}, 0, sparse);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    packed_file = entry.path().string();
  good = good && survives({"written to a file", 0, 1, true}, 0, sparse);
  llmrt_runtime_release(runtime);
  return good ? 0 : 1;
}
