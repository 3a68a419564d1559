// The CPU backend against golden models (transformers, float32), on every table this machine runs.
#include "golden/golden.h"

#include <doctest/doctest.h>

#include <bit>
#include <cstring>

#include "backends/cpu/cpu_backend.h"
#include "base/half.h"

using namespace llmrt;

namespace {

std::unique_ptr<Backend> cpu_on(const cpu::KernelTable& table, uint32_t n_workers = 2) {
  return std::make_unique<cpu::CpuBackend>(test::make_host(n_workers), table);
}

// F16 values read as BF16. The golden models' are both.
class Bf16Reader final : public WeightReader {
 public:
  explicit Bf16Reader(const WeightReader& f16) : f16_(f16) {}
  Status read(uint64_t offset, void* dst, uint64_t n) const override {
    LLMRT_TRY(f16_.read(offset, dst, n));
    auto* bytes = static_cast<uint8_t*>(dst);
    for (uint64_t i = 0; i + 2 <= n; i += 2) {
      uint16_t h;
      std::memcpy(&h, bytes + i, 2);
      h = f32_to_bf16(f16_to_f32(h));
      std::memcpy(bytes + i, &h, 2);
    }
    return Status();
  }
  void drop_behind(uint64_t offset, uint64_t n) const override { f16_.drop_behind(offset, n); }

 private:
  const WeightReader& f16_;
};

test::TestModel load_as_bf16(Backend& backend, const test::GoldenModel& golden) {
  test::TestModel model;
  model.source = test::take(test::open_model(golden.path, golden.overrides));
  model.def = test::take(define_model(*model.source));
  for (WeightDesc& desc : model.def.program.weights) {
    const SourceReader reader(*model.source, *model.source->find(desc.name));
    const Bf16Reader bf16(reader);
    const bool half = desc.type == DType::f16;
    if (half) desc.type = DType::bf16;
    model.weights.push_back(test::take(
        backend.add_weight(desc, half ? static_cast<const WeightReader&>(bf16) : reader, nullptr)));
  }
  return model;
}

template <class Load>
void check_goldens(const Load& load) {
  for (const cpu::KernelTable* table : cpu::available_kernel_tables())
    for (const auto& golden : test::golden_models()) {
      CAPTURE(table->name);
      CAPTURE(golden.name);
      auto backend = cpu_on(*table);
      const test::TestModel model = load(*backend, golden);
      for (const auto& prompt : golden.prompts) {
        test::SimpleRunner runner(*backend, model);
        const auto logits = runner.run(prompt.ids);
        CHECK(test::max_abs_diff(logits, prompt.logits) <= 2e-3);
        if (std::string(table->name) == "scalar") continue;
        CHECK(runner.greedy(logits, prompt.greedy.size()) == prompt.greedy);
      }
    }
}

// Two panels by a kernel that takes one.
void linear_of_two(const cpu::LinearArgs& a) {
  const cpu::LinearFn multiply = cpu::default_kernel_table().linear_of(*a.format);
  cpu::LinearArgs one = a;
  one.n_panels = 1;
  for (uint32_t p = 0; p < a.n_panels; ++p) {
    multiply(one);
    one.panel += a.panel_stride;
    one.out += size_t{a.n_rows} * kPanelRows;
  }
}

std::vector<float> logits_of_all_prompts(const cpu::KernelTable& table,
                                         const test::GoldenModel& golden) {
  auto backend = cpu_on(table);
  const auto model = test::load_on(*backend, golden.path, golden.overrides);
  std::vector<float> all;
  for (const auto& prompt : golden.prompts) {
    test::SimpleRunner runner(*backend, model);
    const auto logits = runner.run(prompt.ids);
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

}  // namespace

TEST_CASE("F16 models with float32 KV give the golden logits and greedy tokens") {
  check_goldens([](Backend& backend, const auto& golden) {
    return test::load_on(backend, golden.path, golden.overrides);
  });
}

TEST_CASE("BF16 models with float32 KV give the golden logits and greedy tokens") {
  check_goldens(load_as_bf16);
}

TEST_CASE("F16 models with bf16 KV stay within 2 percent relative RMS") {
  for (const auto& golden : test::golden_models()) {
    CAPTURE(golden.name);
    auto backend = cpu_on(cpu::default_kernel_table());
    const auto model = test::load_on(*backend, golden.path, golden.overrides);
    for (const auto& prompt : golden.prompts) {
      test::SimpleRunner runner(*backend, model, {.kv_type = "bf16"});
      CHECK(test::bf16_kv_rms(runner.run(prompt.ids), prompt) <= 0.02);
    }
  }
}

TEST_CASE(
    "quantized models stay within 8 percent relative RMS, with the same bits on every table") {
  for (const auto& golden : test::golden_quantized()) {
    CAPTURE(golden.name);
    std::vector<float> first;
    for (const cpu::KernelTable* table : cpu::available_kernel_tables()) {
      CAPTURE(table->name);
      auto backend = cpu_on(*table);
      const auto model = test::load_on(*backend, golden.path);
      bool float_weights = false;
      for (const WeightDesc& w : model.def.program.weights)
        float_weights =
            float_weights || (w.n > 1 && format_of(w.type).numerics == NumericsClass::f32);
      std::vector<float> all;
      for (const auto& prompt : golden.prompts) {
        test::SimpleRunner runner(*backend, model, {.kv_type = "bf16"});
        const auto logits = runner.run(prompt.ids);
        CHECK(test::relative_rms(logits, prompt.logits) <= 0.08);
        all.insert(all.end(), logits.begin(), logits.end());
      }
      if (first.empty()) first = all;
      if (!float_weights)  // float32 linears of the scalar table, BF16 ones of AMX are other classes
        CHECK(std::memcmp(first.data(), all.data(), all.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("a table that takes two panels at once gives the logits of one that takes one") {
  cpu::KernelTable one = cpu::default_kernel_table(), two = one;
  for (const QuantFormat& f : all_formats()) {
    const auto type = static_cast<uint32_t>(f.type);
    one.takes_panels[type] = false;
    if (!one.linear_of(f)) continue;
    two.linear[type] = &linear_of_two;
    two.takes_panels[type] = true;
  }
  for (const auto& models : {test::golden_models(), test::golden_quantized()})
    for (const auto& golden : models) {
      CAPTURE(golden.name);
      const auto want = logits_of_all_prompts(one, golden),
                 got = logits_of_all_prompts(two, golden);
      CHECK(got.size() == want.size());
      CHECK(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)) == 0);
    }
}
