// The reference interpreter against transformers: the tolerances of the golden data's own README.
#include "golden/golden.h"
#include "graph/reference.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

constexpr double kFloat32Tolerance =
    2e-3;  // max abs difference of a logit; logits have a standard deviation of 1.4 to 4.8
constexpr double kBf16KvTolerance = 0.02;  // relative RMS

void check_exact(const GoldenModel& golden, const SimpleOptions& options) {
  CAPTURE(golden.name);
  const auto backend = make_reference_backend(make_host());
  const TestModel model = load_on(*backend, golden.path, golden.overrides);
  double worst = 0;
  for (const GoldenPrompt& prompt : golden.prompts) {
    SimpleRunner runner(*backend, model, options);
    const auto logits = runner.run(prompt.ids);
    worst = worse(worst, max_abs_diff(logits, prompt.logits));
    CHECK(runner.greedy(logits, prompt.greedy.size()) == prompt.greedy);
  }
  CHECK(worst <= kFloat32Tolerance);
}

}  // namespace

TEST_CASE("golden models: logits within 2e-3 and every greedy token") {
  for (const GoldenModel& golden : golden_models()) check_exact(golden, {});
}

TEST_CASE("golden quantized files: logits within 2e-3 and every greedy token") {
  for (const GoldenModel& golden : golden_quantized()) check_exact(golden, {});
}

TEST_CASE("a pass suspended at every chunk and blocks of 16 give the same logits") {
  for (const GoldenModel& golden : golden_models()) {
    if (golden.name != "gemma3" && golden.name != "mistral" && golden.name != "mixtral") continue;
    check_exact(golden, {.block_tokens = 16, .max_rows = 7, .deadline = Deadline::at_once});
  }
}

TEST_CASE("bf16 KV costs at most 2 percent of the logits' spread") {
  for (const GoldenModel& golden : golden_models()) {
    CAPTURE(golden.name);
    const auto backend = make_reference_backend(make_host());
    const TestModel model = load_on(*backend, golden.path, golden.overrides);
    for (const GoldenPrompt& prompt : golden.prompts) {
      SimpleRunner runner(*backend, model, {.kv_type = "bf16"});
      CHECK(bf16_kv_rms(runner.run(prompt.ids), prompt) <= kBf16KvTolerance);
    }
  }
}

TEST_CASE("rows are independent of how a prompt is cut") {
  for (const GoldenModel& golden : golden_models()) {
    for (const char* kv_type : {"f32", "bf16", "k=f16,v=bf16"}) {
      CAPTURE(golden.name);
      const auto backend = make_reference_backend(make_host());
      const TestModel model = load_on(*backend, golden.path, golden.overrides);
      const auto& ids = golden.prompts[1].ids;
      SimpleRunner whole(*backend, model, {.kv_type = kv_type});
      SimpleRunner cut(*backend, model, {.kv_type = kv_type, .max_rows = 13});
      SimpleRunner single(*backend, model, {.kv_type = kv_type, .max_rows = 1});
      const auto logits = whole.run(ids);
      CHECK(cut.run(ids) == logits);
      CHECK(single.run(ids) == logits);
    }
  }
}
