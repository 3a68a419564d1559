// Time that a token costs outside the kernels, on one thread. CPU time of the thread, which a neighbour distorts least.
//
//   engine/N/C           decode steps of N sequences at contexts of C tokens and a little more, text events read after each step, over a
//                        backend whose passes do nothing: plan, blocks, batch, a greedy draw from 512 logits, text, events, statistics
//   engine_sampled/N/C   the same with 151,936 logits and the default chain: sampler included
//   sampler/V            that chain alone on the same row of V logits. It has a bar of its own
//   cpu_phases/P         the CPU backend's pass of one row through P matrices of 16 x 16, so next to nothing but the walk: ns/phase
//   cpu_tiny/C           a decode pass of a tiny model at context C, kernels included: what a walk over a real program costs at most
//
// us/token is the figure of engine; the bar is 30 us.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "engine/engine.h"
#include "formats/byte_source.h"
#include "graph/make_batch.h"
#include "runtime/runner.h"
#include "sampling/chain.h"
#include "tests/support/host.h"
#include "tests/support/program_kit.h"
#include "tests/support/toy_backend.h"

using namespace llmrt;
using test::take;

namespace {

constexpr uint32_t kSmallVocabulary = 512, kLargeVocabulary = 151'936;
constexpr Token kFirstWord = 100, kNWords = 60;  // ordinary tokens of the tiny models' vocabulary
constexpr uint32_t kAnswer = 256;                // tokens; then equal requests begin anew, untimed

std::shared_ptr<LoadedModel> load_tiny(bool metadata_only) {
  ModelOptions options;
  options.metadata_only = metadata_only;
  const std::string path = std::string(LLMRT_TESTS_DIR) + "/data/models/qwen2/qwen2.f16.gguf";
  return take(load_model(test::make_host(1), {take(source_from_path(path))}, options, nullptr));
}

// A flat vocabulary with a few words above it.
std::vector<float> some_row(uint32_t n_vocab) {
  std::vector<float> row(n_vocab);
  for (uint32_t v = 0; v < n_vocab; ++v) row[v] = -8.0f + static_cast<float>(v * 37 % 101) * 0.02f;
  for (Token w = 0; w < kNWords; ++w)
    row[static_cast<size_t>(kFirstWord + w)] = 6.0f - 0.1f * static_cast<float>(w);
  return row;
}

struct EngineRun {
  EngineRun(uint32_t n_vocab, uint32_t n_seqs, uint32_t n_context) : context(n_context) {
    test::ToyOptions toy_options;
    toy_options.windows = {0};
    toy_options.n_vocab = n_vocab;
    toy_options.fixed_logits = some_row(n_vocab);
    toy = test::make_toy_model(toy_options);
    vocabulary = load_tiny(true);
    toy.model->tokenizer = std::move(vocabulary->tokenizer);
    EngineOptions options;
    options.host_stepped = true;
    options.ctx_tokens = context + kAnswer;
    options.max_running = n_seqs;
    // what runs, and as much again that is kept from before
    const auto block = toy.backend->kv_geometry({}, {{}, options.block_tokens, 0}).block_bytes;
    options.kv_budget =
        static_cast<int64_t>(2 * n_seqs * (options.ctx_tokens / options.block_tokens + 2) * block);
    engine = take(Engine::create(toy.model, options));
    params.max_tokens = kAnswer;
    params.ignore_eos = true;
    if (n_vocab == kSmallVocabulary) params.sampling.temperature = 0;
    requests.resize(n_seqs);
  }

  // All of them, and the first token of each.
  void begin() {
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<Token> prompt(context, kFirstWord + static_cast<Token>(i));
      params.seed = static_cast<int64_t>(i);
      requests[i] = take(engine->submit(std::move(prompt), params));
    }
    n_ended = 0;
    for (size_t n_begun = 0; n_begun < requests.size();) {
      step();
      n_begun = 0;
      for (const RequestPtr& request : requests)
        n_begun += request->usage().generated_tokens > 0 ? 1 : 0;
    }
  }
  void step() {
    static_cast<void>(engine->step(0));
    for (const RequestPtr& request : requests) {
      while (request->next(0, event) == Code::ok) {
        n_bytes += event.text.size();
        n_ended += event.type == EventType::done ? 1 : 0;
      }
    }
  }

  uint32_t context;
  std::shared_ptr<LoadedModel> vocabulary;
  test::ToyModel toy;
  std::unique_ptr<Engine> engine;
  GenParams params;
  std::vector<RequestPtr> requests;
  Event event;
  size_t n_ended = 0, n_bytes = 0;
};

void count_tokens(benchmark::State& state, double n_tokens) {
  state.counters["us/token"] = benchmark::Counter(
      n_tokens * 1e-6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void engine_steps(benchmark::State& state, uint32_t n_vocab) {
  const auto n_seqs = static_cast<uint32_t>(state.range(0));
  EngineRun run(n_vocab, n_seqs, static_cast<uint32_t>(state.range(1)));
  run.begin();
  for (auto _ : state) {
    if (run.n_ended > 0) {
      state.PauseTiming();
      while (run.n_ended < run.requests.size()) run.step();
      run.begin();
      state.ResumeTiming();
    }
    run.step();
  }
  if (run.n_bytes == 0) state.SkipWithError("no text was read");
  count_tokens(state, static_cast<double>(state.iterations()) * n_seqs);
}

void sampler(benchmark::State& state) {
  const auto n_vocab = static_cast<uint32_t>(state.range(0));
  const std::vector<float> row = some_row(n_vocab);
  const auto chain = take(Chain::make({}, n_vocab, {}));
  const std::vector<Token> history(8000, kFirstWord);
  chain->reserve(history.size());
  uint32_t position = 8000;
  for (auto _ : state) {
    Pick pick = take(chain->sample(row, {history, 1, position++}));
    benchmark::DoNotOptimize(pick);
  }
  count_tokens(state, static_cast<double>(state.iterations()));
}

void cpu_phases(benchmark::State& state) {
  constexpr uint32_t kWidth = 16, kTokens = 8, kHead = 64;
  const auto n_phases = static_cast<uint32_t>(state.range(0));
  test::Rng rng(1);
  test::ProgramKit kit;
  ValueId x = kit.builder().embed(
      kit.add_f32("embd", kTokens, kWidth, test::random_floats(rng, kTokens * kWidth)));
  for (uint32_t i = 0; i < n_phases; ++i) {
    const WeightIndex w = kit.add_f32(std::string("w").append(std::to_string(i)), kWidth, kWidth,
                                      test::random_floats(rng, kWidth * kWidth, 0.25f));
    x = kit.builder().linear(x, w);
  }
  kit.finish(x);

  cpu::CpuBackend backend(test::make_host(1), cpu::default_kernel_table());
  const auto weights = take(kit.load(backend));
  KvGroup group;
  group.n_layers = group.n_kv_head = 1;
  group.d_k = group.d_v = kHead;  // of no layer: a program has a KV store
  KvConfig config;
  config.n_blocks = kFirstBlock + 1;
  CompileOptions options;
  options.kv = take(backend.kv_create({&group, 1}, config));
  options.max_rows = options.max_out = options.max_seqs = 1;
  options.max_positions = 1;
  const ExeId exe = take(backend.compile(kit.program, weights, options));
  const std::vector<int32_t> token = {3};
  const RowRun run{token, 0, {}, RowWant::last};
  BatchStorage storage;
  for (auto _ : state) {
    make_batch({&run, 1}, 0, config.block_tokens, storage);
    const Batch batch = storage.view();
    Execution execution{exe, &batch};
    take(backend.advance(execution, Deadline::never()));
  }
  state.counters["ns/phase"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * n_phases * 1e-9,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void cpu_tiny(benchmark::State& state) {
  const auto context = static_cast<uint32_t>(state.range(0));
  const auto model = load_tiny(false);
  const auto n_groups = static_cast<uint32_t>(model->def.program.kv_groups.size());
  RunnerOptions options;
  const uint32_t n_entries = context / options.kv.block_tokens + 1;
  options.kv.n_blocks = kFirstBlock + n_groups * n_entries;
  options.max_rows = options.max_out = options.max_seqs = 1;
  options.max_positions = context + 1;
  const auto runner =
      take(Runner::create(*model->backend, model->def.program, model->weights, options));
  BlockId next = kFirstBlock;
  std::vector<std::vector<BlockId>> tables(n_groups);
  for (auto& table : tables)
    for (uint32_t i = 0; i < n_entries; ++i) {
      if (!model->backend->kv_commit(runner->kv(), next).ok()) return state.SkipWithError("no KV");
      table.push_back(next++);
    }
  const std::vector<int32_t> token = {kFirstWord};
  const auto pass = [&](uint32_t position) {
    const RowRun run{token, position, tables, RowWant::last};
    runner->begin({&run, 1});
    take(runner->advance(Deadline::never()));
  };
  for (uint32_t position = 0; position < context; ++position) pass(position);  // finite K and V
  for (auto _ : state) pass(context);
  count_tokens(state, static_cast<double>(state.iterations()));
  state.counters["ops"] = static_cast<double>(model->def.program.ops.size());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const std::vector<std::vector<int64_t>> shapes = {{1, 4, 8}, {100, 8000}};
  benchmark::RegisterBenchmark("engine", [](benchmark::State& s) {
    engine_steps(s, kSmallVocabulary);
  })->ArgsProduct(shapes);
  benchmark::RegisterBenchmark("engine_sampled", [](benchmark::State& s) {
    engine_steps(s, kLargeVocabulary);
  })->ArgsProduct(shapes);
  benchmark::RegisterBenchmark("sampler", sampler)->Arg(kSmallVocabulary)->Arg(kLargeVocabulary);
  benchmark::RegisterBenchmark("cpu_phases", cpu_phases)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);
  benchmark::RegisterBenchmark("cpu_tiny", cpu_tiny)->Arg(100)->Arg(400);
  benchmark::RunSpecifiedBenchmarks();
}
