// A user reads an answer while another one's long prompt comes in: how far apart are the tokens then, and how far apart were they before?
//
//   gap_main MODEL.gguf [PROMPT_TOKENS 8000]
// Fails if the 99th percentile of the gaps beside the prompt is above 3 times the median gap alone and above 33 ms: a pass may take 25 ms
// however fast the model is (docs/decisions/002-rows-beside-decodes.md), and a third more where its rows are dearer than their mean.
#include <atomic>
#include <thread>

#include "embed_support.h"

using namespace embed;

namespace {

constexpr double kMostTimes = 3, kMostMs = 33;
constexpr size_t kAlone = 150;

void must(llmrt_status status) {
  if (status >= LLMRT_OK) return;
  std::printf("%s\n", llmrt_last_error());
  std::exit(1);
}

llmrt_event next(llmrt_request* request) {
  llmrt_event event;
  event.struct_size = sizeof event;
  must(llmrt_request_next(request, 60000, &event));
  return event;
}

int64_t generated(llmrt_request* request) {
  llmrt_usage usage;
  usage.struct_size = sizeof usage;
  must(llmrt_request_usage(request, &usage));
  return usage.generated_tokens;
}

llmrt_request* submit(llmrt_engine* engine, const std::vector<int32_t>& prompt,
                      int32_t max_tokens) {
  const llmrt_gen_options options = greedy(max_tokens);
  llmrt_request* request = nullptr;
  must(llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &options, &request));
  return request;
}

// Milliseconds from token to token, until `stop` says so. A piece of text may hold several tokens, so tokens are counted by polling.
template <class Stop>
std::vector<double> gaps(llmrt_request* reader, Stop stop) {
  std::vector<double> out;
  double last = 0;
  int64_t n = generated(reader);
  while (!stop(out.size())) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    const int64_t now = generated(reader);
    if (now == n) continue;
    const double t = now_ms();
    if (last > 0) out.push_back((t - last) / static_cast<double>(now - n));
    last = t;
    n = now;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "";
  const int32_t n_prompt = argc > 2 ? std::atoi(argv[2]) : 8000;
  if (path.empty() || !std::ifstream(path))
    return std::printf("skipped: %s is not there\n", path.c_str()), 77;
  llmrt_model* model = nullptr;
  must(llmrt_model_load(nullptr, path.c_str(), nullptr, &model));
  const int32_t n_vocab = vocabulary_of(model);
  llmrt_engine_options options;
  llmrt_engine_options_init(&options, sizeof options);
  options.ctx_tokens = n_prompt + 4096;
  llmrt_engine* engine = nullptr;
  must(llmrt_engine_create(model, &options, &engine));

  llmrt_request* reader = submit(engine, some_tokens(100, n_vocab, 1), n_prompt);
  while (generated(reader) < 10) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto alone = gaps(reader, [](size_t n) { return n == kAlone; });

  llmrt_request* newcomer =
      submit(engine, some_tokens(static_cast<size_t>(n_prompt), n_vocab, 2), 1);
  const double began = now_ms();
  std::atomic<bool> arrived{false};
  std::thread watcher([&] {
    while (next(newcomer).type != LLMRT_EVENT_DONE) {
    }
    arrived = true;
  });
  const auto beside = gaps(reader, [&](size_t) {
    return arrived || llmrt_request_finish(reader, 0) != LLMRT_FINISH_NONE;
  });
  const double seconds = (now_ms() - began) / 1000;
  const bool outlived = llmrt_request_finish(reader, 0) == LLMRT_FINISH_NONE;
  llmrt_request_cancel(reader, 0);
  watcher.join();
  llmrt_request_release(reader);
  llmrt_request_release(newcomer);
  llmrt_engine_release(engine);
  llmrt_model_release(model);

  const double median = percentile(alone, 0.5), p99 = percentile(beside, 0.99);
  std::printf("alone                P50 %.1f ms, P99 %.1f ms over %zu gaps\n", median,
              percentile(alone, 0.99), alone.size());
  std::printf("beside %5d tokens  P50 %.1f ms, P99 %.1f ms, max %.1f ms over %zu gaps, %.1f s\n",
              n_prompt, percentile(beside, 0.5), p99, percentile(beside, 1.0), beside.size(),
              seconds);
  std::printf("P99 beside / P50 alone: %.2f\n", p99 / median);
  if (!outlived) return std::printf("the reader ended before the prompt was computed\n"), 1;
  return p99 <= std::max(kMostTimes * median, kMostMs) && !beside.empty() ? 0 : 1;
}
