// A 60 Hz host: 600 frames with llmrt_engine_step(2000) in each, a 512-token prefill first, then decoding. Prints how well the budget is
// kept and what the frames cost against free running.
//
//   frame_main MODEL.gguf [FRAMES 600]
// Fails if: tokens per busy second of decode < 60 % of free running; P99 overshoot > 1.5 ms; CPU outside step >= 1 %.
#include <sys/resource.h>

#include <thread>

#include "embed_support.h"

using namespace embed;

namespace {

double cpu_ms() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
         static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

llmrt_engine* make_engine(llmrt_model* model) {
  llmrt_engine_options o;
  llmrt_engine_options_init(&o, sizeof o);
  o.threading = 1;
  o.ctx_tokens = 4096;
  llmrt_engine* engine = nullptr;
  if (llmrt_engine_create(model, &o, &engine) != LLMRT_OK) {
    std::printf("engine: %s\n", llmrt_last_error());
    std::exit(1);
  }
  return engine;
}

int64_t generated(llmrt_request* r) {
  llmrt_usage u;
  u.struct_size = sizeof u;
  llmrt_request_usage(r, &u);
  return u.generated_tokens;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "";
  const int n_frames = argc > 2 ? std::atoi(argv[2]) : 600;
  if (path.empty() || !std::ifstream(path))
    return std::printf("skipped: %s is not there\n", path.c_str()), 77;
  llmrt_model* model = nullptr;
  if (llmrt_model_load(nullptr, path.c_str(), nullptr, &model) != LLMRT_OK)
    return std::printf("load: %s\n", llmrt_last_error()), 1;
  const auto prompt = some_tokens(512, vocabulary_of(model));
  const llmrt_gen_options options = greedy(3000);

  // Free running decode after the same prompt.
  llmrt_engine* engine = make_engine(model);
  llmrt_request* r = nullptr;
  if (llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &options, &r) != LLMRT_OK)
    return std::printf("%s\n", llmrt_last_error()), 1;
  while (generated(r) < 4) llmrt_engine_step(engine, 100000);
  const double free_start = now_ms();
  const int64_t free_from = generated(r);
  while (now_ms() - free_start < 3000) llmrt_engine_step(engine, 1000000);
  const double free_tps =
      static_cast<double>(generated(r) - free_from) / (now_ms() - free_start) * 1e3;
  llmrt_request_release(r);
  llmrt_engine_release(engine);

  engine = make_engine(model);
  if (llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &options, &r) != LLMRT_OK)
    return std::printf("%s\n", llmrt_last_error()), 1;
  std::vector<double> over;
  double busy_decode = 0, cpu_outside = 0, wall_outside = 0;
  int64_t tokens_at_decode = -1, prefill_frames = 0;
  double next = now_ms();
  for (int f = 0; f < n_frames; ++f) {
    const int64_t had = generated(r);
    const double start = now_ms();
    llmrt_engine_step(engine, 2000);
    const double took = now_ms() - start;
    over.push_back(took - 2.0);
    if (had > 0) {
      if (tokens_at_decode < 0) tokens_at_decode = had;
      busy_decode += took;
    } else {
      ++prefill_frames;
    }
    next += 1000.0 / 60;
    const double cpu = cpu_ms(), wall = now_ms();
    if (next > wall)
      std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(next - wall));
    cpu_outside += cpu_ms() - cpu;
    wall_outside += now_ms() - wall;
  }
  const int64_t decoded = tokens_at_decode < 0 ? 0 : generated(r) - tokens_at_decode;
  const double frame_tps = busy_decode > 0 ? static_cast<double>(decoded) / busy_decode * 1e3 : 0;

  // One piece of work at a time: how long is the longest?
  llmrt_request_release(r);
  llmrt_engine_release(engine);
  engine = make_engine(model);
  if (llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &options, &r) != LLMRT_OK) return 1;
  std::vector<double> pieces;
  while (generated(r) < 6) {
    const double start = now_ms();
    llmrt_engine_step(engine, 0);
    pieces.push_back(now_ms() - start);
  }
  llmrt_request_release(r);
  llmrt_engine_release(engine);
  llmrt_model_release(model);

  const double ratio = frame_tps / free_tps, p99 = percentile(over, 0.99),
               outside = 100 * cpu_outside / wall_outside;
  std::printf(
      "frames %d (prefill took %lld): %lld tokens decoded, %.1f tokens per busy second, free "
      "running %.1f: %.0f %%\n",
      n_frames, static_cast<long long>(prefill_frames), static_cast<long long>(decoded), frame_tps,
      free_tps, 100 * ratio);
  std::printf(
      "step(2000) overshoot: P50 %.3f ms, P99 %.3f ms, max %.3f ms; CPU outside step %.2f %%\n",
      percentile(over, 0.5), p99, percentile(over, 1.0), outside);
  std::printf("step(0), one piece of work: P50 %.3f ms, P99 %.3f ms, max %.3f ms over %zu\n",
              percentile(pieces, 0.5), percentile(pieces, 0.99), percentile(pieces, 1.0),
              pieces.size());
  return ratio >= 0.6 && p99 <= 1.5 && outside < 1 ? 0 : 1;
}
