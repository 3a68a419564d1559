// Speed of the linear kernels on one thread: every weight type, every kernel table that runs here, 1 to 512 rows of activations.
//   kernel_bench --benchmark_filter=Q4_K/avx2
//
//   GB/s       weights read a second; up to 8 rows they come from memory, as in decoding, else from cache, as in a prefill
//   of_read    GB/s beside the fastest stream measured here
//   GOPS       multiply-adds a second, times two
//   of_dot     GOPS beside the table's own multiply instruction with nothing else to do
//
// Time is the thread's CPU time, which a neighbour distorts least.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include "backends/cpu/kernel_table.h"
#include "base/float_control.h"
#include "base/memory.h"
#include "quant/panel.h"
#include "tests/bench/ceilings.h"
#include "tests/cpu/random_weights.h"

using namespace llmrt;

namespace {

constexpr uint32_t kK = 2048, kMostRows = 512;
constexpr size_t kStreamed = size_t{96} << 20;  // bytes of weights: more than caches hold
constexpr uint32_t kCachedPanels = 16;

// The loops of ceilings.h that a table's kernels multiply with. A table without one (scalar) has no ceiling to be put beside.
struct Instructions {
  const char *table, *a8, *f32;
};
constexpr Instructions kInstructions[] = {
    {"amx_int8", "int8_amx", "fma_zmm"},          {"avx512_vnni", "int8_vnni_zmm", "fma_zmm"},
    {"avx_vnni", "int8_avx_vnni_ymm", "fma_ymm"}, {"avx2", "int8_maddubs_ymm", "fma_ymm"},
    {"neon", "int8_sdot_neon", "fma_neon"},       {"neon_i8mm", "int8_smmla_neon", "fma_neon"},
    {"sve", "int8_sdot_sve", "fma_neon"},
};

struct Ceilings {
  double gb_per_s = 0;
  std::map<std::string, double> gops;  // by the loop's name
};

Ceilings measure_ceilings() {
  Ceilings c;
  {
    const bench::StreamMemory memory(size_t{512} << 20, true);
    for (const size_t ahead : {size_t{0}, bench::kAhead}) {
      size_t at = 0;
      if (!memory.data()) break;
      const double rate = bench::best_rate([&] {
        benchmark::DoNotOptimize(bench::read_span(memory.data() + at, bench::kSpan, ahead));
        at = (at + bench::kSpan) % memory.size();
      });
      c.gb_per_s = std::max(c.gb_per_s, rate * static_cast<double>(bench::kSpan) * 1e-9);
    }
  }
  const std::unique_ptr<uint8_t, void (*)(void*)> scratch(
      static_cast<uint8_t*>(std::aligned_alloc(bench::kScratchBytes, bench::kScratchBytes)),
      std::free);
  std::memset(scratch.get(), 1, bench::kScratchBytes);
  for (const bench::Loop& loop : bench::multiply_loops())
    c.gops[loop.name] = loop.giga_ops * bench::best_rate([&] { loop.call(scratch.get()); });
  return c;
}

double dot_ceiling(const Ceilings& ceilings, const char* table, bool a8) {
  for (const Instructions& row : kInstructions)
    if (std::strcmp(row.table, table) == 0)
      if (const auto at = ceilings.gops.find(a8 ? row.a8 : row.f32); at != ceilings.gops.end())
        return at->second;
  return 0;
}

// Panels of one type, all alike, and rows of activations as its kernels take them.
struct Matrix {
  const QuantFormat& format;
  bool rounded;
  size_t panel_stride, in_stride;
  uint32_t n_panels;
  ActivationForm form;
  Buffer panels, in, out, scratch;
  Matrix(const QuantFormat& f, uint32_t group)
      : format(f), rounded(group != 0), panel_stride(panel_bytes(f.type, kK)) {
    n_panels = static_cast<uint32_t>(kStreamed / panel_stride);
    panels = Buffer::make(panel_stride * n_panels);
    const auto rows = test::random_weights(f.type, kPanelRows, kK, 1);
    pack_panel(f.type, rows.data(), row_bytes(f, kK), kPanelRows, kK, panels.data());
    for (uint32_t p = 1; p < n_panels; ++p)
      std::memcpy(panels.data() + p * panel_stride, panels.data(), panel_stride);
    if (rounded) form = activation_form(kK, group);
    in_stride = rounded ? form.row_bytes : kK * sizeof(float) + 64;
    in = Buffer::make(
        std::max(in_stride * kMostRows, size_t{2} << 20));  // in 2 MiB pages, as a pass's values
    for (uint32_t r = 0; r < kMostRows; ++r) {
      const auto x = test::random_floats(kK, r + 1);
      if (rounded)
        quantize_activations(x.data(), form, in.data() + r * in_stride);
      else
        std::memcpy(in.data() + r * in_stride, x.data(), kK * sizeof(float));
    }
    out = Buffer::make(sizeof(float) * kPanelRows * cpu::kMaxLinearRows * cpu::kMostPanels);
    scratch = Buffer::make(cpu::linear_scratch_bytes(kK));
  }
  void multiply(cpu::LinearFn fn, uint32_t panel, uint32_t count, uint32_t n_rows) {
    cpu::LinearArgs a{};
    a.panel = panels.data() + panel * panel_stride;
    a.panel_stride = panel_stride;
    a.n_panels = count;
    a.k = kK;
    a.in_stride = in_stride;
    a.form = &form;
    a.format = &format;
    a.out = out.as<float>();
    a.scratch = scratch.data();
    for (uint32_t r = 0; r < n_rows; r += a.n_rows) {
      a.in = in.data() + r * in_stride;
      a.n_rows = std::min(n_rows - r, cpu::kMaxLinearRows);
      fn(a);
    }
  }
};

// One iteration is one panel, or as many as the table takes at once.
void linear(benchmark::State& state, Matrix& m, const cpu::KernelTable& table,
            const Ceilings& ceilings) {
  const FloatScope floats(FloatMode::compute);
  const auto rows = static_cast<uint32_t>(state.range(0));
  const cpu::LinearFn fn = table.linear_of(m.format);
  if (!fn) {
    state.SkipWithError("the table has no kernel for this type");
    return;
  }
  const uint32_t n_panels = rows <= 8 ? m.n_panels : kCachedPanels;
  const bool takes_panels = rows >= 16 && table.takes_panels[static_cast<uint32_t>(m.format.type)];
  const uint32_t at_once = takes_panels ? cpu::kMostPanels : 1;
  uint32_t panel = 0;
  for (auto _ : state) {
    m.multiply(fn, panel, at_once, rows);
    panel = (panel + at_once) % n_panels;
  }
  const auto n = static_cast<double>(state.iterations()) * at_once;
  const double gigabytes = static_cast<double>(m.panel_stride) * n * 1e-9;
  const double giga_ops = 2.0 * kPanelRows * kK * rows * n * 1e-9;
  constexpr auto kRate = benchmark::Counter::kIsRate;
  state.counters["GB/s"] = benchmark::Counter(gigabytes, kRate);
  state.counters["GOPS"] = benchmark::Counter(giga_ops, kRate);
  if (ceilings.gb_per_s > 0 && rows <= 8)
    state.counters["of_read"] = benchmark::Counter(gigabytes / ceilings.gb_per_s, kRate);
  if (const double dot = dot_ceiling(ceilings, table.name, m.rounded); dot > 0)
    state.counters["of_dot"] = benchmark::Counter(giga_ops / dot, kRate);
}

std::string one_digit(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const Ceilings ceilings = measure_ceilings();
  benchmark::AddCustomContext("ceiling, read", one_digit(ceilings.gb_per_s) + " GB/s");
  for (const auto& [name, gops] : ceilings.gops)
    benchmark::AddCustomContext("ceiling, " + name, one_digit(gops) + " GOPS");

  std::unique_ptr<Matrix>
      matrix;  // of one type at a time: a benchmark runs its function several times
  for (const QuantFormat& f : all_formats())
    for (const cpu::KernelTable* table : cpu::available_kernel_tables()) {
      const auto body = [&matrix, &f, table, &ceilings](benchmark::State& state) {
        const uint32_t group = table->input_group(f);
        if (!matrix || matrix->format.type != f.type || matrix->form.group != group) {
          matrix.reset();
          matrix = std::make_unique<Matrix>(f, group);
        }
        linear(state, *matrix, *table, ceilings);
      };
      const std::string name = std::string(f.name) + "/" + table->name;
      auto* b = benchmark::RegisterBenchmark(name.c_str(), body);
      b->ArgName("rows")->MinTime(0.1);
      for (const int rows : {1, 2, 4, 8, 32, 128, 512}) b->Arg(rows);
    }
  benchmark::RunSpecifiedBenchmarks();
}
