// Every compiled-in backend against golden models: the tolerances of the golden data's own README, by numerics class.
#include "golden/golden.h"
#include "graph/backend_registry.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

constexpr double kFloat32Tolerance =
    2e-3;  // max abs difference of a logit: F16 weights are class f32
constexpr double kBf16KvTolerance = 0.02;  // relative RMS
constexpr double kInt8Tolerance = 0.08;    // relative RMS with 8-bit activations

template <class Check>
void for_each_device(const std::vector<GoldenModel>& models, const char* kv_type, Check check) {
  for (const BackendFactory& factory : builtin_backends()) {
    for (int32_t device = 0; device < factory.device_count(); ++device) {
      for (const GoldenModel& golden : models) {
        CAPTURE(golden.name);
        CAPTURE(factory.id);
        const auto backend = take(factory.create(make_host(), device, ""));
        const TestModel model = load_on(*backend, golden.path, golden.overrides);
        for (const GoldenPrompt& prompt : golden.prompts) {
          SimpleRunner runner(*backend, model, {.kv_type = kv_type});
          check(runner, prompt, runner.run(prompt.ids));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("F16 models with f32 KV: logits within 2e-3 and every greedy token") {
  for_each_device(
      golden_models(), "f32",
      [](SimpleRunner& runner, const GoldenPrompt& prompt, const std::vector<float>& logits) {
        CHECK(max_abs_diff(logits, prompt.logits) <= kFloat32Tolerance);
        CHECK(runner.greedy(logits, prompt.greedy.size()) == prompt.greedy);
      });
}

TEST_CASE("F16 models with bf16 KV: relative RMS within 0.02") {
  for_each_device(golden_models(), "bf16",
                  [](SimpleRunner&, const GoldenPrompt& prompt, const std::vector<float>& logits) {
                    CHECK(bf16_kv_rms(logits, prompt) <= kBf16KvTolerance);
                  });
}

TEST_CASE("quantized files with 8-bit activations: relative RMS within 0.08") {
  for_each_device(golden_quantized(), "f32",
                  [](SimpleRunner&, const GoldenPrompt& prompt, const std::vector<float>& logits) {
                    CHECK(relative_rms(logits, prompt.logits) <= kInt8Tolerance);
                  });
}
