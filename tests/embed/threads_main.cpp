// Sixteen threads submit, poll, cancel and release the same and different handles for a few seconds; then everything is released in
// the middle of work. Run under ThreadSanitizer too.
//
//   threads_main [SECONDS 3]
#include <atomic>
#include <random>
#include <thread>

#include "embed_support.h"

using namespace embed;

// Longer than any wait of a healthy engine, under a sanitizer and beside other work too.
constexpr int32_t kHangMs = 60'000;

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  llmrt_model* model = nullptr;
  if (llmrt_model_load(nullptr, tiny_model().c_str(), nullptr, &model) != LLMRT_OK)
    return std::printf("load: %s\n", llmrt_last_error()), 1;
  const int32_t n_vocab = vocabulary_of(model);
  llmrt_engine* engine = nullptr;
  if (llmrt_engine_create(model, nullptr, &engine) != LLMRT_OK)
    return std::printf("engine: %s\n", llmrt_last_error()), 1;
  std::atomic<int64_t> n_done{0}, n_cancelled{0}, n_refused{0}, n_wrong{0};
  std::atomic<llmrt_request*> shared{nullptr};
  const double until = now_ms() + seconds * 1000;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 rng(t);
      while (now_ms() < until) {
        const auto prompt = some_tokens(1 + rng() % 60, n_vocab, rng() % 5);
        llmrt_gen_options options = greedy(static_cast<int32_t>(1 + rng() % 20));
        options.n = rng() % 8 == 0 ? 2 : 1;
        llmrt_request* r = nullptr;
        const llmrt_status s =
            llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &options, &r);
        if (s == LLMRT_ERR_QUEUE_FULL) {
          n_refused.fetch_add(1);
          continue;
        }
        if (s != LLMRT_OK) {
          n_wrong.fetch_add(1);
          continue;
        }
        const uint32_t what = rng() % 5;
        if (what == 0) {
          llmrt_request* old =
              shared.exchange(r);  // somebody else waits for it, cancels it, releases it
          if (old) {
            llmrt_request_cancel(old, 0);
            llmrt_request_wait(old, 100);
            llmrt_request_release(old);
          }
          continue;
        }
        if (what == 1) {
          llmrt_request_cancel(r, 0);
          if (llmrt_request_wait(r, kHangMs) == LLMRT_ERR_CANCELLED) n_cancelled.fetch_add(1);
        } else if (what == 2) {
          llmrt_event event;
          event.struct_size = sizeof event;
          while (llmrt_request_next(r, kHangMs, &event) == LLMRT_OK) {
          }
          n_done.fetch_add(1);
        } else if (what == 3) {
          if (llmrt_request_wait(r, kHangMs) != LLMRT_OK) n_wrong.fetch_add(1);
          n_done.fetch_add(1);
        }
        llmrt_metrics metrics;
        metrics.struct_size = sizeof metrics;
        llmrt_engine_metrics(engine, &metrics);
        llmrt_request_release(r);
        llmrt_request_release(r);  // twice: nothing happens
      }
    });
  std::thread resizer([&] {
    int32_t n = 1;
    while (now_ms() < until) {
      llmrt_runtime_set_workers(nullptr, n = 3 - n);
      llmrt_runtime_set_priority(nullptr, 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  for (auto& t : threads) t.join();
  resizer.join();
  // The end: handles go while requests run.
  const auto prompt = some_tokens(50, n_vocab);
  const llmrt_gen_options options = greedy(200);
  for (int i = 0; i < 8; ++i) {
    llmrt_request* r = nullptr;
    llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &options, &r);
    if (i % 2) llmrt_request_release(r);
  }
  llmrt_model_release(model);
  llmrt_engine_release(engine);
  std::printf("16 threads: %lld done, %lld cancelled, %lld refused, %lld wrong\n",
              static_cast<long long>(n_done.load()), static_cast<long long>(n_cancelled.load()),
              static_cast<long long>(n_refused.load()), static_cast<long long>(n_wrong.load()));
  return n_wrong.load() || n_done.load() == 0 ? 1 : 0;
}
