// The CPU backend against golden models (transformers, float32), on every table this machine runs.
#include "golden/golden.h"

#include <doctest/doctest.h>

#include <bit>

#include "backends/cpu/cpu_backend.h"

using namespace llmrt;

namespace {

std::unique_ptr<Backend> cpu_on(const cpu::KernelTable& table, uint32_t n_workers = 2) {
  return std::make_unique<cpu::CpuBackend>(test::make_host(n_workers), table);
}

}  // namespace

TEST_CASE("F16 models with float32 KV give the golden logits and greedy tokens") {
  for (const cpu::KernelTable* table : cpu::available_kernel_tables())
    for (const auto& golden : test::golden_models()) {
      CAPTURE(table->name);
      CAPTURE(golden.name);
      auto backend = cpu_on(*table);
      const auto model = test::load_on(*backend, golden.path, golden.overrides);
      for (const auto& prompt : golden.prompts) {
        test::SimpleRunner runner(*backend, model);
        const auto logits = runner.run(prompt.ids);
        CHECK(test::max_abs_diff(logits, prompt.logits) <= 2e-3);
        if (std::string(table->name) == "scalar") continue;
        CHECK(runner.greedy(logits, prompt.greedy.size()) == prompt.greedy);
      }
    }
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
