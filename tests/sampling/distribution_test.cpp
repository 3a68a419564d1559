// Draws against the exact distribution of each step and of the whole chain: Pearson's chi-square.
#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

#if defined(LLMRT_TEST_DRAWS)
constexpr int kDraws = LLMRT_TEST_DRAWS;  // sanitized or emulated
#else
constexpr int kDraws = 1000000;
#endif

const std::vector<double> kUrn = {0.28, 0.22, 0.16, 0.12, 0.09, 0.06, 0.04, 0.03};

// A sum of df squared normals exceeds df + 5.5 sqrt(2 df) + 20 with probability below 1e-7 for the df here (Laurent and Massart, 2000:
// P[X >= df + 2 sqrt(df x) + 2 x] <= e^-x, x = 10 to 16).
void check_draws(const SamplingParams& params, const std::vector<double>& exact,
                 const std::vector<Token>& history = {}, const std::vector<double>& urn = kUrn) {
  std::vector<float> logits;
  for (const double p : urn) logits.push_back(static_cast<float>(std::log(p)) + 3.0f);
  auto chain = make_chain(params, static_cast<uint32_t>(urn.size()));
  std::vector<int> counts(urn.size());
  for (int i = 0; i < kDraws; ++i) {
    auto result = chain->sample(logits, {history, 20240229, static_cast<uint32_t>(i)});
    if (!result.ok()) FAIL("draw failed");
    ++counts[static_cast<size_t>(result->id)];
  }
  double total = 0, chi = 0;
  for (const double p : exact) total += p;
  int df = -1;
  for (size_t i = 0; i < exact.size(); ++i) {
    const double want = kDraws * exact[i] / total;
    if (want == 0) {
      CHECK(counts[i] == 0);
      continue;
    }
    chi += (counts[i] - want) * (counts[i] - want) / want;
    ++df;
  }
  const double x = 16;
  CHECK(chi <= df + 2 * std::sqrt(df * x) + 2 * x);
}

}  // namespace

TEST_CASE("distribution: no step") { check_draws(plain(), kUrn); }

TEST_CASE("distribution: temperature") {
  SamplingParams p = plain();
  p.temperature = 0.7f;
  std::vector<double> exact;
  for (const double x : kUrn) exact.push_back(std::pow(x, 1 / static_cast<double>(p.temperature)));
  check_draws(p, exact);
}

TEST_CASE("distribution: top_k") {
  SamplingParams p = plain();
  p.top_k = 3;
  check_draws(p, {0.28, 0.22, 0.16, 0, 0, 0, 0, 0});
}

TEST_CASE("distribution: top_p") {
  SamplingParams p = plain();
  p.top_p = 0.7f;
  check_draws(p, {0.28, 0.22, 0.16, 0.12, 0, 0, 0, 0});
}

TEST_CASE("distribution: min_p") {
  SamplingParams p = plain();
  p.min_p = 0.3f;
  check_draws(p, {0.28, 0.22, 0.16, 0.12, 0.09, 0, 0, 0});
}

TEST_CASE("distribution: typical") {
  SamplingParams p = plain();
  p.typical_p = 0.4f;
  // H = 1.86 nats; surprises 1.27 1.51 1.83 2.12 2.41 ...: 0.16, 0.12 and 0.22 are closest.
  check_draws(p, {0, 0.22, 0.16, 0.12, 0, 0, 0, 0});
}

TEST_CASE("distribution: xtc") {
  SamplingParams p = plain();
  p.xtc_probability = 0.4f;
  p.xtc_threshold = 0.15f;
  // With 0.4 the two best leave, and the rest is renewed by 0.5.
  std::vector<double> exact = kUrn;
  for (size_t i = 0; i < exact.size(); ++i)
    exact[i] = 0.6 * kUrn[i] + (i < 2 ? 0.0 : 0.4 * kUrn[i] / 0.5);
  check_draws(p, exact);
}

TEST_CASE("distribution: logit_bias") {
  SamplingParams p = plain();
  p.logit_bias = {{0, -kInf}, {3, 1.0f}};
  std::vector<double> exact = kUrn;
  exact[0] = 0;
  exact[3] *= std::exp(1.0);
  check_draws(p, exact);
}

TEST_CASE("distribution: penalties") {
  SamplingParams p = plain();
  p.presence_penalty = 0.5f;
  p.frequency_penalty = 0.25f;
  std::vector<double> exact = kUrn;
  exact[1] *= std::exp(-1.0);
  exact[4] *= std::exp(-0.75);
  check_draws(p, exact, {1, 4, 1});
}

TEST_CASE("distribution: dry") {
  SamplingParams p = plain();
  p.dry_multiplier = 0.5f;
  p.dry_base = 2;
  std::vector<double> exact = kUrn;
  exact[3] *= std::exp(-1.0);
  check_draws(p, exact, {0, 1, 2, 3, 5, 0, 1, 2});
}

TEST_CASE("distribution: the whole chain, and it does not depend on which ids the letters have") {
  SamplingParams p;
  p.temperature = 1.5f;
  p.top_k = 6;
  p.top_p = 0.9f;
  p.min_p = 0.2f;
  p.presence_penalty = 0.3f;
  p.logit_bias = {{1, -kInf}};
  // After bias and penalty on token 0: 0.28 e^-0.3 = 0.2074, 0.16, 0.12, 0.09, 0.06, 0.04, 0.03; six best are 0.6774 in all;
  // 0.9 of that is reached by 0.2074 + 0.16 + 0.12 + 0.09 + 0.06 = 0.6374; 0.2 x 0.2074 = 0.0415 cuts none of these.
  std::vector<double> exact = {0.28 * std::exp(-0.3), 0, 0.16, 0.12, 0.09, 0.06, 0, 0};
  for (double& x : exact) x = x > 0 ? std::pow(x, 1 / 1.5) : 0;
  check_draws(p, exact, {0});
}

TEST_CASE("distribution: rare tokens of a steep urn keep their share") {
  std::vector<double> urn = {0.9989, 1e-3, 1e-4};
  check_draws(plain(), urn, {}, urn);
}
