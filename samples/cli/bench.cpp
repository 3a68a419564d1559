// llmrt bench: prefill and decode speed, one warm-up and -r repetitions.
//
//   prefill_tps   -p tokens / time from submit to the first token, one sequence, nothing cached
//   decode_tps    tokens a second over all -b sequences decoding side by side, from -depth tokens of context on
//   weight_gbps   weight bytes x decode steps a second: how near decoding is to memory bandwidth
//   load_to_first_token_ms   loading, engine and the first prompt of -p tokens, to its first token: weights that are mapped are read then
//   kv_bytes      what the KV cache of such sequences has to hold at their ends, as a plan sums it up; of metrics it would depend on when
//                 they are read
#include <sys/resource.h>

#include <cstdio>
#include <memory>

#include "commands.h"
#include "options.h"
#include "progress.h"
#include "stream.h"

namespace cli {
namespace {

// An engine takes 2^22 tokens of context and 1024 sequences: half of it for the prompt or depth, half for the answer.
constexpr int kMostTokens = (1 << 21) - 8;
constexpr int kMostSequences = 1024;
constexpr int kMostRepetitions = 1'000'000;

struct BenchArgs {
  ModelArgs model;
  EngineArgs engine;
  int prompt = 512, n = 64, batch = 1, repetitions = 5, depth = 0;
  bool json = false;
};

struct Figures {
  std::vector<double> prefill_tps, ttft_ms, decode_tps, load_to_first_token_ms;
};

// The same "random" ids every time, away from the special tokens at both ends of a vocabulary.
std::vector<int32_t> some_tokens(size_t n, int32_t n_vocab) {
  const int64_t low = n_vocab > 4000 ? 1000 : 3;
  const int64_t span = std::max<int64_t>(std::min<int64_t>(n_vocab, 40000) - low, 1);
  std::vector<int32_t> ids(n);
  uint64_t state = 7;
  for (int32_t& id : ids) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    id = static_cast<int32_t>(low + static_cast<int64_t>(state >> 33) % span);
  }
  return ids;
}

Owned<llmrt_request> submit(llmrt_engine* engine, std::span<const int32_t> prompt, int max_tokens) {
  llmrt_gen_options o;
  llmrt_gen_options_init(&o, sizeof o);
  o.temperature = 0;
  o.ignore_eos = 1;
  o.max_tokens = max_tokens;
  llmrt_request* request = nullptr;
  check(llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &o, &request));
  return Owned<llmrt_request>(request);
}

// Waits; the bar moves from repetition to repetition.
void finish(llmrt_request* request, ProgressBar& bar, int repetition, int repetitions) {
  llmrt_status status = LLMRT_PENDING;
  while ((status = llmrt_request_wait(request, 100)) == LLMRT_PENDING) {
    if (interrupted()) throw_interrupted();
    bar.show(repetition, repetitions + 1);
  }
  check(status);
}

llmrt_engine_options engine_options(const BenchArgs& args, int tokens, int sequences,
                                    bool prefix_cache, int64_t kv_per_token) {
  llmrt_engine_options o;
  llmrt_engine_options_init(&o, sizeof o);
  fill(args.engine, o);
  if (o.ctx_tokens == 0) o.ctx_tokens = tokens;
  o.max_running = sequences;
  o.prefix_cache = prefix_cache ? 1 : 0;
  if (kv_per_token > 0) o.kv_budget = kv_per_token * (int64_t{o.ctx_tokens} + 64) * (sequences + 1);
  return o;
}

struct KvSize {
  int64_t per_token = 0, all = 0;  // bytes
};

// An automatic kv_budget is for 4 running sequences at most, and for those to the block, the two reserved ones included.
KvSize kv_size(const BenchArgs& args, const Loaded& loaded) {
  constexpr int kMostBudgeted = 4;
  const int sequences = args.n > 0 ? args.batch : 1;
  llmrt_engine_options o;
  llmrt_engine_options_init(&o, sizeof o);
  fill(args.engine, o);
  o.ctx_tokens = args.n > 0 ? std::max(args.depth, 1) + args.n : args.prompt;
  o.max_running = std::min(sequences, kMostBudgeted);
  const llmrt_plan_info plan = info_of(make_plan(loaded, args.model, o).get());
  return {plan.kv_per_token, plan.kv * sequences / o.max_running};
}

void time_prefill(const BenchArgs& args, const Loaded& loaded, std::span<const int32_t> tokens,
                  int64_t per_token, Figures& figures) {
  const double engine_begin = seconds_now();
  const auto engine =
      make_engine(loaded, engine_options(args, args.prompt + 8, 1, false, per_token));
  ProgressBar bar("prefill", ProgressBar::Of::runs);
  for (int r = 0; r <= args.repetitions; ++r) {
    const double begin = seconds_now();
    const auto request = submit(engine.get(), tokens.first(static_cast<size_t>(args.prompt)), 1);
    finish(request.get(), bar, r, args.repetitions);
    const double end = seconds_now(), seconds = end - begin;
    if (r == 0) {
      figures.load_to_first_token_ms = {loaded.load_ms + (end - engine_begin) * 1e3};
      continue;
    }
    figures.prefill_tps.push_back(args.prompt / seconds);
    figures.ttft_ms.push_back(usage_of(request.get()).ttft_ms);
  }
}

// Tokens a second over all sequences: each counts its own tokens after the first over its own decode time.
void time_decode(const BenchArgs& args, const Loaded& loaded, std::span<const int32_t> tokens,
                 int64_t per_token, Figures& figures) {
  const auto prompt = tokens.first(static_cast<size_t>(std::max(args.depth, 1)));
  const auto engine =
      make_engine(loaded, engine_options(args, static_cast<int>(prompt.size()) + args.n + 8,
                                         args.batch, args.depth > 0, per_token));
  ProgressBar bar("decode", ProgressBar::Of::runs);
  for (int r = 0; r <= args.repetitions; ++r) {
    if (args.depth > 0)  // the context is shared, so decoding starts at once
      finish(submit(engine.get(), prompt, 1).get(), bar, r, args.repetitions);
    std::vector<Owned<llmrt_request>> requests;
    requests.reserve(static_cast<size_t>(args.batch));
    for (int b = 0; b < args.batch; ++b)
      requests.push_back(submit(engine.get(), prompt, args.n + 1));
    double tps = 0;
    for (const auto& request : requests) {
      finish(request.get(), bar, r, args.repetitions);
      const llmrt_usage u = usage_of(request.get());
      if (u.decode_ms > 0) tps += 1e3 * (u.generated_tokens - 1) / u.decode_ms;
    }
    if (r > 0) figures.decode_tps.push_back(tps);
  }
}

std::string line(const char* what, const Json& s, const char* unit) {
  if (s.is_null()) return {};
  char text[160];
  std::snprintf(text, sizeof text, "%-12s %10.2f %s (%.2f to %.2f)\n", what,
                s["median"].get<double>(), unit, s["min"].get<double>(), s["max"].get<double>());
  return text;
}

void check_args(const BenchArgs& args) {
  check_range("-p", args.prompt, 0, kMostTokens);
  check_range("-n", args.n, 0, kMostTokens);
  check_range("-b", args.batch, 1, kMostSequences);
  check_range("-r", args.repetitions, 1, kMostRepetitions);
  check_range("--depth", args.depth, 0, kMostTokens);
  if (args.prompt == 0 && args.n == 0)
    fail_usage("-p and -n are 0: neither prefill nor decode is left to measure");
  if (args.n == 0 && (args.depth > 0 || args.batch > 1))
    fail_usage("--depth and -b belong to decode, which -n 0 leaves out");
}

int bench(const BenchArgs& args) {
  check_args(args);
  const Loaded loaded = load(args.model);
  const llmrt_model_info info = info_of(loaded.model.get());
  const std::vector<int32_t> tokens =
      some_tokens(static_cast<size_t>(std::max({args.prompt, args.depth, 1})), info.n_vocab);
  const KvSize kv = kv_size(args, loaded);
  warn_beyond_training(loaded, args.engine);
  Figures figures;
  if (args.prompt > 0) time_prefill(args, loaded, tokens, kv.per_token, figures);
  if (args.n > 0) time_decode(args, loaded, tokens, kv.per_token, figures);
  std::vector<double> gbps;
  for (const double tps : figures.decode_tps)
    gbps.push_back(tps / args.batch * static_cast<double>(info.weight_bytes) / 1e9);
  struct rusage use = {};
  getrusage(RUSAGE_SELF, &use);
  const std::string name = args.model.path.substr(args.model.path.rfind('/') + 1);
  const Json json = {{"model", name},
                     {"threads", llmrt_runtime_workers(loaded.runtime.get())},
                     {"isa", info.isa},
                     {"batch", args.batch},
                     {"depth", args.depth},
                     {"prompt", args.prompt},
                     {"n", args.n},
                     {"prefill_tps", stats(figures.prefill_tps)},
                     {"decode_tps", stats(figures.decode_tps)},
                     {"ttft_ms", stats(figures.ttft_ms)},
                     {"load_ms", stats({loaded.load_ms})},
                     {"load_to_first_token_ms", stats(figures.load_to_first_token_ms)},
                     {"peak_rss_bytes", int64_t{use.ru_maxrss} * 1024},
                     {"weight_bytes", info.weight_bytes},
                     {"kv_type", args.engine.kv_type},
                     {"kv_bytes", kv.all},
                     {"weight_gbps", stats(gbps)}};
  if (args.json) {
    print_json(json);
    return 0;
  }
  write_out(name + ", " + std::to_string(json["threads"].get<int>()) + " threads, " + info.isa +
            "\n" + line("prefill", json["prefill_tps"], "tokens/s") +
            line("first token", json["ttft_ms"], "ms") +
            line("decode", json["decode_tps"], "tokens/s") +
            line("weights", json["weight_gbps"], "GB/s") + "peak memory  " +
            human_bytes(json["peak_rss_bytes"].get<double>()) + ", weights " +
            human_bytes(static_cast<double>(info.weight_bytes)) + ", KV " +
            human_bytes(static_cast<double>(kv.all)) + "\n");
  return 0;
}

}  // namespace

Command add_bench(CLI::App& app) {
  auto args = std::make_shared<BenchArgs>();
  args->model.add_computing(app);
  args->model.add_cache_dir(app);
  args->engine.add_to(app);
  add_number(app, "-p", args->prompt, "prompt tokens, 0: no prefill")->capture_default_str();
  add_number(app, "-n", args->n, "decode steps, 0: no decode")->capture_default_str();
  add_number(app, "-b", args->batch, "sequences decoded side by side")->capture_default_str();
  add_number(app, "-r", args->repetitions, "repetitions after one warm-up")->capture_default_str();
  add_number(app, "--depth", args->depth, "tokens in the context before decode is timed")
      ->capture_default_str();
  app.add_flag("--json", args->json, "print the figures as JSON");
  return [args] { return bench(*args); };
}

}  // namespace cli
