// Speed of the attention kernels on one thread: KV codec x kernel table x shape, one query token as in decoding and some as in a prefill.
//   attention_bench --benchmark_filter=bf16/avx2
//
//   GB/s       K and V read a second; from memory, as in decoding after a long context, or from cache
//   of_read    GB/s beside the fastest stream measured here
//   GFLOPS     of both products: 2 * keys * rows * (d_k + d_v)
//   of_fma     GFLOPS beside fused multiply-adds with nothing else to do
//
// Time is the thread's CPU time, which a neighbour distorts least.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kv_slabs.h"
#include "base/float_control.h"
#include "base/memory.h"
#include "tests/bench/ceilings.h"
#include "tests/cpu/random_weights.h"

using namespace llmrt;

namespace {

constexpr uint32_t kBlockTokens = 32;
constexpr size_t kStreamed = size_t{64} << 20;  // bytes of K and V: more than caches hold

struct Shape {
  const char* name;
  uint32_t d, group, n_kv_head;
};
// Qwen2.5 0.5B and 1.5B, SmolLM2, Gemma 3 270M
constexpr Shape kShapes[] = {
    {"d64x7", 64, 7, 2}, {"d128x6", 128, 6, 2}, {"d64x3", 64, 3, 3}, {"d256x4", 256, 4, 1}};

struct Ceilings {
  double gb_per_s = 0, gflops = 0;
};

Ceilings measure_ceilings() {
  Ceilings c;
  {
    const bench::StreamMemory memory(size_t{256} << 20, true);
    size_t at = 0;
    if (memory.data())
      c.gb_per_s = static_cast<double>(bench::kSpan) * 1e-9 * bench::best_rate([&] {
                     benchmark::DoNotOptimize(
                         bench::read_span(memory.data() + at, bench::kSpan, bench::kAhead));
                     at = (at + bench::kSpan) % memory.size();
                   });
  }
  const std::unique_ptr<uint8_t, void (*)(void*)> scratch(
      static_cast<uint8_t*>(std::aligned_alloc(bench::kScratchBytes, bench::kScratchBytes)),
      std::free);
  std::memset(scratch.get(), 1, bench::kScratchBytes);
  for (const bench::Loop& loop : bench::multiply_loops())
    if (std::strncmp(loop.name, "fma_", 4) == 0)
      c.gflops =
          std::max(c.gflops, loop.giga_ops * bench::best_rate([&] { loop.call(scratch.get()); }));
  return c;
}

// One layer's K and V, in blocks one after another as an engine hands them out.
struct Keys {
  RowCodec codec;
  Shape shape;
  KvGroup group;
  KvConfig config;
  uint32_t n_chunks;
  std::unique_ptr<cpu::KvSlabs> slabs;
  Keys(RowCodec k, const Shape& s) : codec(k), shape(s) {
    group = {AttnKind::full, 0, 24, s.n_kv_head, s.d, s.d};
    config.codec = {k, k};
    config.block_tokens = kBlockTokens;
    const size_t chunk_bytes =
        cpu::KvSlabs::block_bytes(group, config) * (cpu::kAttendChunk / kBlockTokens);
    n_chunks = static_cast<uint32_t>(std::max<size_t>(1, kStreamed / chunk_bytes));
    const uint32_t n_blocks = n_chunks * (cpu::kAttendChunk / kBlockTokens);
    config.n_blocks = kFirstBlock + n_blocks;
    slabs = std::move(cpu::KvSlabs::create({&group, 1}, config)).value();
    const auto x = test::random_floats(s.d, 3);
    for (uint32_t b = 0; b < n_blocks; ++b) {
      if (!slabs->commit(kFirstBlock + b).ok()) std::abort();
      for (uint32_t layer = 0; layer < group.n_layers; ++layer)
        for (uint32_t h = 0; h < s.n_kv_head; ++h)
          for (uint32_t t = 0; t < kBlockTokens; ++t) {
            uint8_t* head = slabs->head(kFirstBlock + b, 0, layer, h);
            cpu::store_k(slabs->layout(0), head, t, x.data());
            cpu::store_v(slabs->layout(0), head, t, x.data());
          }
    }
  }
};

// One iteration is one chunk of 256 keys of one head.
void attend(benchmark::State& state, const Keys& keys, const cpu::KernelTable& table,
            const Ceilings& ceilings) {
  const FloatScope floats(FloatMode::compute);
  const Shape& s = keys.shape;
  const auto n_tokens = static_cast<uint32_t>(state.range(0));
  const uint32_t n_rows = n_tokens * s.group;
  const auto q = test::random_floats(size_t{n_rows} * s.d, 5);
  Buffer parts = Buffer::make(n_rows * cpu::part_floats(s.d) * sizeof(float)),
         scratch = Buffer::make(cpu::attend_scratch_bytes(s.d, s.d));
  const uint8_t* blocks[cpu::kAttendChunk / kBlockTokens];
  cpu::AttendArgs a{};
  a.q = q.data();
  a.q_token_stride = size_t{s.group} * s.d;
  a.n_tokens = n_tokens;
  a.group = s.group;
  a.d_k = a.d_v = s.d;
  a.k_codec = a.v_codec = keys.codec;
  a.block_tokens = kBlockTokens;
  a.blocks = blocks;
  a.v_at = keys.slabs->layout(0).v_at;
  a.scale = 1.0f / std::sqrt(static_cast<float>(s.d));
  a.parts = parts.as<float>();
  a.part_stride = cpu::part_floats(s.d);
  a.scratch = scratch.data();
  a.pos = 1u << 30;
  // As a pass visits them: chunk by chunk within a head, layers last.
  const bool cached = state.range(1) != 0;
  const uint32_t n_visits = cached ? 1 : keys.n_chunks * s.n_kv_head * keys.group.n_layers;
  uint32_t visit = 0;
  for (auto _ : state) {
    const uint32_t chunk = visit % keys.n_chunks, head = visit / keys.n_chunks;
    for (uint32_t b = 0; b < std::size(blocks); ++b)
      blocks[b] =
          keys.slabs->head(kFirstBlock + chunk * static_cast<uint32_t>(std::size(blocks)) + b, 0,
                           head / s.n_kv_head, head % s.n_kv_head);
    a.chunk_begin = chunk * cpu::kAttendChunk;
    table.attend(a);
    visit = (visit + 1) % n_visits;
  }
  const auto n = static_cast<double>(state.iterations());
  const double gigabytes =
      static_cast<double>(keys.slabs->layout(0).head_bytes * std::size(blocks)) * n * 1e-9;
  const double giga_flop = 4.0 * cpu::kAttendChunk * n_rows * s.d * n * 1e-9;
  constexpr auto kRate = benchmark::Counter::kIsRate;
  state.counters["GB/s"] = benchmark::Counter(gigabytes, kRate);
  state.counters["GFLOPS"] = benchmark::Counter(giga_flop, kRate);
  if (ceilings.gb_per_s > 0 && !cached)
    state.counters["of_read"] = benchmark::Counter(gigabytes / ceilings.gb_per_s, kRate);
  if (ceilings.gflops > 0)
    state.counters["of_fma"] = benchmark::Counter(giga_flop / ceilings.gflops, kRate);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const Ceilings ceilings = measure_ceilings();
  std::unique_ptr<Keys> keys;  // of one codec and shape at a time
  for (const RowCodec codec : {RowCodec::bf16, RowCodec::f16, RowCodec::f32})
    for (const Shape& shape : kShapes)
      for (const cpu::KernelTable* table : cpu::available_kernel_tables()) {
        const auto body = [&keys, codec, &shape, table, &ceilings](benchmark::State& state) {
          if (!keys || keys->codec != codec || keys->shape.name != shape.name) {
            keys.reset();
            keys = std::make_unique<Keys>(codec, shape);
          }
          attend(state, *keys, *table, ceilings);
        };
        const std::string name = std::string(name_of(codec)) + "/" + table->name + "/" + shape.name;
        auto* b = benchmark::RegisterBenchmark(name.c_str(), body);
        b->ArgNames({"tokens", "cached"})->MinTime(0.1);
        b->Args({1, 0})->Args({1, 1});
        b->Args({cpu::kMaxAttendRows / 4 * 3 / shape.group, 1});  // rows that a pass puts together
      }
  benchmark::RunSpecifiedBenchmarks();
}
