// Speed of the kernels, one thread: weights streamed from memory by few rows (GB/s), and multiply-adds of many rows (GOPS).
//   kernel_bench --benchmark_filter=decode/q4_k
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "backends/cpu/kernel_table.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "quant/panel.h"
#include "tests/cpu/random_weights.h"

using namespace llmrt;

namespace {

struct Matrix {
  DType type;
  uint32_t k;
  uint32_t panels;
  size_t stride;
  Buffer data, in, out, scratch;
  ActivationForm form;
  size_t in_stride;
  Matrix(DType t, uint32_t k_, uint32_t n_panels, uint32_t rows)
      : type(t), k(k_), panels(n_panels) {
    const QuantFormat& f = format_of(type);
    stride = panel_bytes(type, k);
    data = Buffer::make(stride * panels);
    const auto w = test::random_weights(type, 16, k, 1);
    for (uint32_t p = 0; p < panels; ++p)
      pack_panel(type, w.data(), row_bytes(f, k), 16, k, data.data() + p * stride);
    const bool rounded = f.numerics == NumericsClass::a8;
    if (rounded) form = activation_form(k, f.group);
    in_stride = rounded ? form.row_bytes : k * 4;
    in = Buffer::make(in_stride * rows);
    for (uint32_t r = 0; r < rows; ++r) {
      const auto x = test::random_floats(k, r + 1);
      if (rounded)
        quantize_activations(x.data(), form, in.data() + r * in_stride);
      else
        std::memcpy(in.data() + r * in_stride, x.data(), k * 4);
    }
    out = Buffer::make(64 * cpu::kMaxLinearRows);
    scratch = Buffer::make(cpu::linear_scratch_bytes(k));
  }
  cpu::LinearArgs args(uint32_t panel, uint32_t row, uint32_t n) {
    cpu::LinearArgs a{};
    a.panel = data.data() + panel * stride;
    a.k = k;
    a.in = in.data() + row * in_stride;
    a.in_stride = in_stride;
    a.form = &form;
    a.n_rows = n;
    a.out = out.as<float>();
    a.scratch = scratch.data();
    return a;
  }
};

// A matrix larger than the caches, each weight read once per pass.
void decode(benchmark::State& state, DType type, uint32_t k) {
  const FloatScope floats(FloatMode::compute);
  const auto rows = static_cast<uint32_t>(state.range(0));
  const auto panels = static_cast<uint32_t>((size_t{96} << 20) / panel_bytes(type, k));
  Matrix m(type, k, panels, rows);
  const cpu::LinearFn fn = cpu::default_kernel_table().linear[static_cast<uint32_t>(type)];
  for (auto _ : state)
    for (uint32_t p = 0; p < panels; ++p) fn(m.args(p, 0, rows));
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(m.stride) * panels * static_cast<double>(state.iterations()) * 1e-9,
      benchmark::Counter::kIsRate);
}

// 512 rows by blocks of 128, as a prefill runs them.
void prefill(benchmark::State& state, DType type, uint32_t k) {
  const FloatScope floats(FloatMode::compute);
  const uint32_t rows = 512, panels = 16;
  Matrix m(type, k, panels, rows);
  const cpu::LinearFn fn = cpu::default_kernel_table().linear[static_cast<uint32_t>(type)];
  for (auto _ : state)
    for (uint32_t p = 0; p < panels; ++p)
      for (uint32_t r = 0; r < rows; r += 128) fn(m.args(p, r, 128));
  state.counters["GOPS"] = benchmark::Counter(
      2.0 * 16 * panels * k * rows * static_cast<double>(state.iterations()) * 1e-9,
      benchmark::Counter::kIsRate);
}

}  // namespace

int main(int argc, char** argv) {
  for (DType type : {DType::q4_k, DType::q6_k, DType::q5_k, DType::q8_0, DType::q4_0, DType::q4_1,
                     DType::q5_0, DType::q5_1, DType::bf16, DType::f16, DType::f32, DType::q2_k}) {
    const std::string name = format_of(type).name;
    for (uint32_t k : {1024u, 4864u}) {
      auto* d =
          benchmark::RegisterBenchmark(("decode/" + name + "/k" + std::to_string(k)).c_str(),
                                       [type, k](benchmark::State& s) { decode(s, type, k); });
      for (int rows : {1, 2, 4, 8}) d->Arg(rows);
      benchmark::RegisterBenchmark(("prefill/" + name + "/k" + std::to_string(k)).c_str(),
                                   [type, k](benchmark::State& s) { prefill(s, type, k); });
    }
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
