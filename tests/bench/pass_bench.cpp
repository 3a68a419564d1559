// Tokens per second of whole passes on a model file, without an engine: prefill of 512, then decode of 1 and 4 sequences.
//   pass_bench MODEL.gguf [threads]
// random_moe.py writes models with experts of any shape.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "backends/cpu/cpu_backend.h"
#include "base/clock.h"
#include "formats/weight_source.h"
#include "graph/make_batch.h"
#include "model/architecture.h"
#include "runtime/source_reader.h"
#include "tests/support/host.h"

using namespace llmrt;
using test::take;

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: pass_bench MODEL.gguf [threads]\n");
    return 2;
  }
  const auto n_workers = argc > 2 ? static_cast<uint32_t>(std::atoi(argv[2])) : 2;
  cpu::CpuBackend backend(test::make_host(n_workers), cpu::default_kernel_table());
  auto source = take(open_weights(take(source_from_path(argv[1])), {}, ""));
  ModelDef def = take(define_model(*source));
  std::vector<WeightId> weights;
  int64_t t0 = now_ns();
  for (const WeightDesc& d : def.program.weights)
    weights.push_back(
        take(backend.add_weight(d, SourceReader(*source, *source->find(d.name)), nullptr)));
  std::printf("load %.0f ms\n", static_cast<double>(now_ns() - t0) * 1e-6);

  const auto n_groups = static_cast<uint32_t>(def.program.kv_groups.size());
  constexpr uint32_t kSeqs = 4, kPerGroup = 20;
  KvConfig config;
  config.n_blocks = kFirstBlock + kSeqs * kPerGroup * n_groups;
  const KvId kv = take(backend.kv_create(def.program.kv_groups, config));
  BlockId next = kFirstBlock;
  std::vector<std::vector<std::vector<BlockId>>> tables(kSeqs);
  for (auto& seq : tables) {
    seq.resize(n_groups);
    for (auto& table : seq)
      for (uint32_t i = 0; i < kPerGroup; ++i) {
        if (!backend.kv_commit(kv, next).ok()) return 1;
        table.push_back(next++);
      }
  }
  CompileOptions options;
  options.kv = kv;
  options.max_positions = 640;
  const ExeId exe = take(backend.compile(def.program, weights, options));

  std::vector<int32_t> prompt(512);
  for (size_t i = 0; i < prompt.size(); ++i)
    prompt[i] = static_cast<int32_t>((1000 + i * 37) % def.program.n_vocab);
  BatchStorage storage;
  const auto pass = [&](std::span<const RowRun> runs) {
    make_batch(runs, n_groups, config.block_tokens, storage);
    const Batch batch = storage.view();
    Execution execution{exe, &batch};
    const int64_t begin = now_ns();
    take(backend.advance(execution, Deadline::never()));
    return static_cast<double>(now_ns() - begin) * 1e-9;
  };
  // Seconds of all threads: what a busy machine distorts least.
  const auto cpu_seconds = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  double cpu_begin = cpu_seconds();
  std::vector<double> best;
  const auto report = [&](const char* name, double tokens) {
    std::sort(best.begin(), best.end());
    std::printf("%-14s median %7.2f tok/s   best %7.2f   cpu-ms per token %7.2f\n", name,
                tokens / best[best.size() / 2], tokens / best[0],
                (cpu_seconds() - cpu_begin) * 1e3 / (tokens * static_cast<double>(best.size())));
    cpu_begin = cpu_seconds();
    best.clear();
  };
  for (int r = 0; r < 5; ++r) {
    const RowRun run{prompt, 0, tables[0], RowWant::last};
    best.push_back(pass({&run, 1}));
  }
  report("prefill 512", 512);
  for (uint32_t n : {1u, 4u}) {
    for (uint32_t step = 0; step < 48; ++step) {
      std::vector<RowRun> runs;
      for (uint32_t s = 0; s < n; ++s)
        runs.push_back({{&prompt[step], 1}, step, tables[s], RowWant::last});
      best.push_back(pass(runs));
    }
    report(n == 1 ? "decode 1" : "decode 4", n);
  }
  return 0;
}
