// route, expert_linear, expert_sum, and the MLP that they make: equal scores, ragged widths, experts that no row or every row chose.
#include <algorithm>
#include <cmath>

#include "ops/op_cases.h"

namespace llmrt::test {
namespace {

constexpr float kEps = 0x1p-24f;
constexpr uint32_t kVocab = 60;

struct Mix {
  uint32_t n_expert, n_used;
  bool renormalise;
};
constexpr Mix kMixes[] = {{4, 2, true},    {8, 3, true}, {8, 3, false}, {33, 8, true},
                          {128, 8, false}, {1, 1, true}, {5, 5, false}};

std::string text_of(const Mix& m) {
  return std::to_string(m.n_used) + " of " + std::to_string(m.n_expert) +
         (m.renormalise ? " renormalised" : "");
}

OpCase case_of(std::string name, uint32_t n_vocab) {
  OpCase c;
  c.name = std::move(name);
  c.passes = {{{0, 1}}, {{0, 2}}, {{0, 70}}, {{0, 5}}};
  c.kit.program.n_vocab = n_vocab;
  return c;
}

// Scores of each token, taken from a table, so that every backend has the same bits: multiples of 1/2, many of them equal.
ValueId route_of(OpCase& c, Rng& rng, const Mix& m, uint32_t n_vocab) {
  std::vector<float> scores = random_floats(rng, size_t{n_vocab} * m.n_expert, 2.0f);
  for (size_t i = 0; i < scores.size(); ++i)
    if (i / m.n_expert % 2) scores[i] = std::round(scores[i] * 2) / 2;
  Builder b = c.kit.builder();
  return b.route(b.embed(c.kit.add_f32("scores", n_vocab, m.n_expert, scores)), m.n_used,
                 m.renormalise);
}

WeightIndex add_experts(OpCase& c, const char* name, uint32_t n_expert, uint32_t n, uint32_t k,
                        std::span<const float> values) {
  const WeightIndex w = c.kit.add_f32(name, n, k, values);
  c.kit.program.weights[w].n_expert = n_expert;
  return w;
}

// The choice is exact; a weight is a quotient of an exp and a sum of n of them.
OpCase route_case(Rng& rng, const Mix& m) {
  const uint32_t width = 2 * m.n_used;
  OpCase c = case_of("route " + text_of(m), width);
  c.kit.finish(route_of(c, rng, m, width));
  const float relative = (m.renormalise ? m.n_used : m.n_expert) * kEps + 8 * kEps;
  c.tolerance = [m, width, relative](const PassValues& v) {
    std::vector<float> out = v.by_op[1];
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = i % width < m.n_used ? 0 : relative * std::fabs(out[i]);
    return out;
  };
  return c;
}

OpCase sum_case(Rng& rng, const Mix& m) {
  OpCase c = case_of("expert_sum " + text_of(m), kVocab);
  Builder b = c.kit.builder();
  const uint32_t width = m.n_used * kVocab;
  const ValueId y =
      b.embed(c.kit.add_f32("y", kVocab, width, random_floats(rng, size_t{kVocab} * width)));
  c.kit.finish(b.expert_sum(y, route_of(c, rng, m, kVocab)));
  c.tolerance = [m, width](const PassValues& v) {
    const std::vector<float>&values = v.by_op[0], &routes = v.by_op[2];
    std::vector<float> out(values.size() / m.n_used, 0.0f);
    const float per_term = static_cast<float>(m.n_used + m.n_expert + 16) * kEps;
    for (size_t i = 0; i < out.size(); ++i)
      for (uint32_t r = 0; r < m.n_used; ++r) {
        const size_t row = i / kVocab;
        out[i] += per_term * std::fabs(routes[row * 2 * m.n_used + m.n_used + r] *
                                       values[row * width + r * kVocab + i % kVocab]);
      }
    return out;
  };
  return c;
}

// act(gate x) * up x, down, sum, over integers until the activation: gate and up are exact without fused multiply-add too.
OpCase mlp_case(Rng& rng, const Mix& m, uint32_t k, uint32_t n_ff) {
  OpCase c =
      case_of("experts " + text_of(m) + " [" + std::to_string(n_ff) + "," + std::to_string(k) + "]",
              kVocab);
  const auto integers = [&rng](size_t n) {
    std::vector<float> out(n);
    for (float& x : out) x = static_cast<float>(static_cast<int>(rng() % 5) - 2);
    return out;
  };
  Builder b = c.kit.builder();
  const ValueId x = b.embed(c.kit.add_f32("x", kVocab, k, integers(size_t{kVocab} * k)));
  const ValueId route = route_of(c, rng, m, kVocab);
  const size_t n_values = size_t{m.n_expert} * n_ff * k;
  const WeightIndex gate = add_experts(c, "gate", m.n_expert, n_ff, k, integers(n_values)),
                    up = add_experts(c, "up", m.n_expert, n_ff, k, integers(n_values));
  const auto down = random_floats(rng, size_t{m.n_expert} * kVocab * n_ff);
  const ValueId h =
      b.glu(b.expert_linear(x, route, gate), b.expert_linear(x, route, up), Activation::silu);
  c.kit.finish(b.expert_sum(
      b.expert_linear(h, route, add_experts(c, "down", m.n_expert, kVocab, n_ff, down)), route));
  // Ops: x, scores, route, gate, up, glu. Few roundings in the activation, then n_ff in down, n_used in the sum.
  c.tolerance = [m, n_ff, down](const PassValues& v) {
    const std::vector<float>&routes = v.by_op[2], &hidden = v.by_op[5];
    const size_t n_rows = routes.size() / (2 * m.n_used);
    std::vector<float> out(n_rows * kVocab, 0.0f);
    const float per_term = static_cast<float>(n_ff + m.n_used + m.n_expert + 32) * kEps;
    for (size_t i = 0; i < out.size(); ++i)
      for (uint32_t r = 0; r < m.n_used; ++r) {
        const float* route_row = &routes[i / kVocab * 2 * m.n_used];
        const float* w = &down[(static_cast<size_t>(route_row[r]) * kVocab + i % kVocab) * n_ff];
        const float* row = &hidden[(i / kVocab * m.n_used + r) * n_ff];
        float size = 0;
        for (uint32_t j = 0; j < n_ff; ++j) size += std::fabs(w[j] * row[j]);
        out[i] += per_term * std::fabs(route_row[m.n_used + r]) * size;
      }
    return out;
  };
  return c;
}

}  // namespace

void add_expert_cases(std::vector<OpCase>& cases) {
  Rng rng(11);
  for (const Mix& m : kMixes) {
    cases.push_back(route_case(rng, m));
    cases.push_back(sum_case(rng, m));
  }
  cases.push_back(mlp_case(rng, {4, 2, true}, 128, 128));
  cases.push_back(mlp_case(rng, {8, 3, true}, 100, 17));
  cases.push_back(mlp_case(rng, {33, 8, false}, 64, 96));
  cases.push_back(mlp_case(rng, {1, 1, true}, 40, 1));
  add_expert_linear_cases(cases);
}

}  // namespace llmrt::test
