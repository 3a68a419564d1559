// The machine's ceilings: how fast memory streams, and how many multiply-adds its instructions do, with one thread and with several.
//   roofline [--threads=2] [--stream-mib=1024] [option of Google Benchmark, such as --benchmark_filter=read]
// The best of the repetitions is the ceiling; what lies far below it says how busy the machine was.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "backends/cpu/cpu_features.h"
#include "tests/bench/ceilings.h"

using namespace llmrt;
using bench::kSpan;

namespace {

struct Options {
  int threads = 2;
  size_t stream_mib = 1024;
};

// One run of memory at a time; made before the threads of a benchmark begin, kept while the next one reads the same kind.
struct Stream {
  size_t mib = 0;
  bool huge = false;
  std::unique_ptr<bench::StreamMemory> memory;
  void prepare(bool want_huge) {
    if (memory && huge == want_huge) return;
    memory.reset();
    memory = std::make_unique<bench::StreamMemory>(mib << 20, want_huge);
    huge = want_huge;
  }
};
Stream g_stream;  // Google Benchmark's setup functions take no state
void prepare_4k(const benchmark::State&) { g_stream.prepare(false); }
void prepare_2m(const benchmark::State&) { g_stream.prepare(true); }

void stream(benchmark::State& state, size_t ahead) {
  const auto n_threads = static_cast<size_t>(state.threads());
  const size_t spans = g_stream.memory->size() / kSpan / n_threads;
  const uint8_t* const begin = g_stream.memory->data();
  if (!begin || spans == 0) {
    state.SkipWithError("no memory to stream through: see --stream-mib");
    return;
  }
  const uint8_t* const mine = begin + static_cast<size_t>(state.thread_index()) * spans * kSpan;
  size_t at = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bench::read_span(mine + at * kSpan, kSpan, ahead));
    at = (at + 1) % spans;
  }
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(kSpan) * static_cast<double>(state.iterations()) * 1e-9,
      benchmark::Counter::kIsRate);
}

struct Free {
  void operator()(uint8_t* p) const { std::free(p); }
};

void multiply(benchmark::State& state, const bench::Loop& loop) {
  const std::unique_ptr<uint8_t, Free> scratch(
      static_cast<uint8_t*>(std::aligned_alloc(bench::kScratchBytes, bench::kScratchBytes)));
  std::memset(scratch.get(), 1, bench::kScratchBytes);
  for (auto _ : state) loop.call(scratch.get());
  state.counters["GOPS"] = benchmark::Counter(
      loop.giga_ops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

// argv without the options that are ours.
Options take_options(int& argc, char** argv) {
  Options options;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--threads=", 10) == 0)
      options.threads = std::atoi(argv[i] + 10);
    else if (std::strncmp(argv[i], "--stream-mib=", 13) == 0)
      options.stream_mib = static_cast<size_t>(std::atoi(argv[i] + 13));
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
  return options;
}

void add(const std::string& name, int threads, void (*setup)(const benchmark::State&),
         const std::function<void(benchmark::State&)>& body) {
  for (int n = 1; n <= threads; n += std::max(threads - 1, 1)) {
    auto* b = benchmark::RegisterBenchmark(name.c_str(), body);
    b->Threads(n)->UseRealTime()->MinTime(0.1)->Repetitions(5);
    if (setup) b->Setup(setup);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = take_options(argc, argv);
  g_stream.mib = options.stream_mib;
  const int threads = std::max(options.threads, 1);
  add("read_4k", threads, prepare_4k, [](auto& s) { stream(s, 0); });
  add("read_4k_ahead", threads, prepare_4k, [](auto& s) { stream(s, bench::kAhead); });
  if (bench::huge_pages_possible()) {
    add("read_2m", threads, prepare_2m, [](auto& s) { stream(s, 0); });
    add("read_2m_ahead", threads, prepare_2m, [](auto& s) { stream(s, bench::kAhead); });
  }
  for (const bench::Loop& loop : bench::multiply_loops())
    add(loop.name, threads, nullptr, [loop](auto& s) { multiply(s, loop); });
  benchmark::AddCustomContext("processor", cpu::detect_cpu_features().processor);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  g_stream.memory.reset();
}
