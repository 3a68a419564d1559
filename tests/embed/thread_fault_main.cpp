// Every thread that cannot start, in turn: the Nth pthread_create of making a runtime, loading, answering and closing fails. Each call
// answers ERR_OUT_OF_MEMORY in a sentence (or works), nothing leaks, and the same work succeeds afterwards.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "counting_allocator.h"
#include "embed_support.h"

using namespace embed;

namespace {
std::atomic<int> n_started{0}, fails{-1};  // which start fails, from 1 on
}  // namespace

// The library's calls come here: a program's own symbol goes before libc's.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*entry)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (n_started.fetch_add(1) + 1 == fails.load()) return EAGAIN;
  return real(thread, attributes, entry, argument);
}

namespace {

// The first failing status; "" or its sentence in `why`.
llmrt_status one_life(std::string& why) {
  llmrt_runtime* runtime = nullptr;
  llmrt_source* source = nullptr;
  llmrt_job* job = nullptr;
  llmrt_model* model = nullptr;
  llmrt_engine* engine = nullptr;
  llmrt_request* request = nullptr;
  llmrt_runtime_options ro;
  llmrt_runtime_options_init(&ro, sizeof ro);
  static bool first = true;
  if (first) count_allocations(ro);
  first = false;
  ro.worker_threads = 3;
  const llmrt_gen_options go = greedy(6);
  static const std::vector<int32_t> prompt = some_tokens(40, 500);
  llmrt_status s = llmrt_runtime_create(&ro, &runtime);
  if (s == LLMRT_OK) s = llmrt_source_from_path(tiny_model().c_str(), &source);
  if (s == LLMRT_OK) s = llmrt_model_load_async(runtime, source, nullptr, &job);
  if (s == LLMRT_OK) s = llmrt_job_poll(job, -1, nullptr);
  if (s == LLMRT_OK) s = llmrt_job_take_model(job, &model);
  if (s == LLMRT_OK) s = llmrt_engine_create(model, nullptr, &engine);
  if (s == LLMRT_OK) s = llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &go, &request);
  if (s == LLMRT_OK) s = llmrt_request_wait(request, -1);
  why = s == LLMRT_OK ? "" : llmrt_last_error();
  llmrt_request_release(request);
  llmrt_engine_release(engine);
  llmrt_model_release(model);
  llmrt_job_release(job);
  llmrt_source_release(source);
  llmrt_runtime_release(runtime);
  return s;
}

// A runtime that cannot get the workers it is asked for keeps those it has.
bool resize_keeps_workers() {
  llmrt_runtime* runtime = nullptr;
  llmrt_runtime_options ro;
  llmrt_runtime_options_init(&ro, sizeof ro);
  ro.worker_threads = 3;
  if (llmrt_runtime_create(&ro, &runtime) != LLMRT_OK) return false;
  fails.store(n_started.load() + 4);
  const llmrt_status refused = llmrt_runtime_set_workers(runtime, 8);
  fails.store(-1);
  const int32_t kept = llmrt_runtime_workers(runtime);
  const llmrt_status later = llmrt_runtime_set_workers(runtime, 8);
  const int32_t wanted = llmrt_runtime_workers(runtime);
  llmrt_runtime_release(runtime);
  return refused == LLMRT_ERR_OUT_OF_MEMORY && kept == 3 && later == LLMRT_OK && wanted == 8;
}

}  // namespace

int main() {
  std::string why;
  for (int i = 0; i < 2;
       ++i)  // what stays for good (per-thread text, tables) is there after the first
    if (one_life(why) != LLMRT_OK) return std::printf("clean run: %s\n", why.c_str()), 1;
  const int before = n_started.load();
  const int64_t settled = in_use.load();
  if (one_life(why) != LLMRT_OK) return std::printf("clean run: %s\n", why.c_str()), 1;
  const int per_life = n_started.load() - before;

  int n_refused = 0;
  for (int n = 1; n <= per_life; ++n) {
    fails.store(n_started.load() + n);
    const llmrt_status s = one_life(why);
    fails.store(-1);
    if (s != LLMRT_OK && s != LLMRT_ERR_OUT_OF_MEMORY)
      return std::printf("thread %d of %d: status %d, %s\n", n, per_life, s, why.c_str()), 1;
    if (s == LLMRT_ERR_OUT_OF_MEMORY) {
      ++n_refused;
      std::printf("thread %d of %d: %s\n", n, per_life, why.c_str());
      if (why.find("thread") == std::string::npos) return 1;
    }
    // The load's thread is nobody's to wait for; it gives back its part a moment later.
    for (int ms = 0; ms < 2000 && in_use.load() != settled; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (in_use.load() != settled)
      return std::printf("thread %d of %d: %lld bytes leaked\n", n, per_life,
                         static_cast<long long>(in_use.load() - settled)),
             1;
  }
  if (one_life(why) != LLMRT_OK) return std::printf("afterwards: %s\n", why.c_str()), 1;
  if (!resize_keeps_workers()) return std::printf("a failed set_workers changes the number\n"), 1;
  std::printf("%d threads failed to start in turn, %d refusals, nothing leaked\n", per_life,
              n_refused);
  return n_refused > 0 ? 0 : 1;
}
