// norm, rope, glu, add, scale, softcap, gather_rows over widths that end inside a vector.
#include <cmath>

#include "base/math.h"
#include "ops/op_cases.h"

namespace llmrt::test {
namespace {

constexpr float kEps = 0x1p-24f;

// x = embed [width, width]; op(x) -> logits of the same width.
OpCase row_case(Rng& rng, std::string name, uint32_t width,
                const std::function<ValueId(OpCase&, ValueId)>& op) {
  OpCase c;
  c.name = std::move(name) + " width " + std::to_string(width);
  c.passes = {{{0, 1}}, {{0, 33}}, {{0, 2}}};
  c.kit.program.n_embd = width;
  const WeightIndex table =
      c.kit.add_f32("table", width, width, random_floats(rng, size_t{width} * width, 2.0f));
  Builder b = c.kit.builder();
  c.kit.finish(op(c, b.embed(table)));
  return c;
}

// The last value before gather_rows.
const std::vector<float>& result_of(const PassValues& v) { return v.by_op[v.by_op.size() - 2]; }

std::function<std::vector<float>(const PassValues&)> relative_to_result(float factor) {
  return [factor](const PassValues& v) {
    std::vector<float> out = result_of(v);
    for (float& x : out) x = factor * std::fabs(x);
    return out;
  };
}

std::function<std::vector<float>(const PassValues&)> exact() { return relative_to_result(0); }

// An op of x and y = -0.7 x, one rounding that every backend does alike.
OpCase two_input_case(Rng& rng, std::string name, uint32_t width,
                      const std::function<ValueId(Builder&, ValueId, ValueId)>& op) {
  return row_case(rng, std::move(name), width, [&](OpCase& c, ValueId x) {
    Builder b = c.kit.builder();
    return op(b, x, b.scale(x, -0.7f));
  });
}

void add_norm(std::vector<OpCase>& cases, Rng& rng) {
  const std::pair<uint32_t, uint32_t> shapes[] = {{8, 0},  {100, 0},  {576, 0}, {128, 64},
                                                  {96, 8}, {192, 96}, {320, 80}};
  for (const auto& [width, group] : shapes) {
    cases.push_back(row_case(rng, "norm group " + std::to_string(group), width,
                             [&, w = width, g = group](OpCase& c, ValueId x) {
                               const uint32_t n = g ? g : w;
                               const WeightIndex weight =
                                   c.kit.add_f32("norm", 1, n, random_floats(rng, n));
                               return c.kit.builder().norm(x, weight, 1e-5f, g);
                             }));
    // A sum of n positive squares is off by n eps, its root by half of that; then mean, root, quotient and two products.
    cases.back().tolerance =
        relative_to_result((static_cast<float>(group ? group : width) / 2 + 8) * kEps);
  }
}

void add_rope(std::vector<OpCase>& cases, Rng& rng) {
  struct Shape {
    uint32_t heads, d, d_rot;
    RopePairs pairs;
    float mscale;
  };
  const Shape shapes[] = {
      {3, 8, 8, RopePairs::interleaved, 1},   {3, 8, 8, RopePairs::halves, 1},
      {2, 64, 64, RopePairs::halves, 1.14f},  {4, 80, 32, RopePairs::halves, 1},
      {4, 80, 32, RopePairs::interleaved, 1}, {9, 64, 64, RopePairs::interleaved, 1},
      {1, 256, 256, RopePairs::halves, 0.9f}};
  for (const Shape& s : shapes) {
    RopeTable table;
    table.pairs = s.pairs;
    table.mscale = s.mscale;
    for (uint32_t j = 0; j < s.d_rot / 2; ++j)
      table.inv_freq.push_back(pow_f64(10000, -2.0 * j / s.d_rot));
    const char* pairs = s.pairs == RopePairs::halves ? "rope halves " : "rope interleaved ";
    OpCase c = row_case(
        rng,
        pairs + std::to_string(s.heads) + "x" + std::to_string(s.d) + "/" + std::to_string(s.d_rot),
        s.heads * s.d, [&](OpCase& made, ValueId x) {
          Builder b = made.kit.builder();
          return b.rope(x, s.heads, s.d, b.rope_table(table));
        });
    c.start = {0, 1000, 32700};
    c.passes = {{{0, 1}}, {{0, 20}, {1, 3}, {2, 40}}, {{1, 1}, {2, 1}}};
    // Rounded cos and sin, two products and a sum, all of numbers up to mscale (|a| + |b|) <= 2 mscale max |x| of the row.
    c.tolerance = [s](const PassValues& v) {
      const std::vector<float>& x = v.by_op[0];
      std::vector<float> out(x.size());
      const size_t width = size_t{s.heads} * s.d;
      for (size_t row = 0; row < x.size(); row += width) {
        float largest = 0;
        for (size_t i = 0; i < width; ++i) largest = std::max(largest, std::fabs(x[row + i]));
        std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(row), width,
                    8 * kEps * s.mscale * largest);
      }
      return out;
    };
    cases.push_back(std::move(c));
  }
}

}  // namespace

void add_row_op_cases(std::vector<OpCase>& cases) {
  Rng rng(5);
  add_norm(cases, rng);
  add_rope(cases, rng);
  for (uint32_t width : {1u, 7u, 64u, 100u, 577u}) {
    cases.push_back(two_input_case(rng, "add", width,
                                   [](Builder& b, ValueId x, ValueId y) { return b.add(x, y); }));
    cases.back().tolerance = exact();
    for (Activation act : {Activation::silu, Activation::gelu_tanh}) {
      const char* name = act == Activation::silu ? "glu silu" : "glu gelu_tanh";
      cases.push_back(two_input_case(
          rng, name, width, [act](Builder& b, ValueId x, ValueId y) { return b.glu(x, y, act); }));
      // Absolute in |gate up|: gelu's 1 + tanh cancels.
      cases.back().tolerance = [](const PassValues& v) {
        std::vector<float> out = v.by_op[0];
        for (size_t i = 0; i < out.size(); ++i)
          out[i] = 8 * kEps * std::fabs(out[i] * v.by_op[1][i]);
        return out;
      };
    }
    cases.push_back(row_case(rng, "scale", width, [](OpCase& c, ValueId x) {
      return c.kit.builder().scale(x, 11.3137f);
    }));
    cases.back().tolerance = exact();
    cases.push_back(row_case(rng, "softcap", width, [](OpCase& c, ValueId x) {
      return c.kit.builder().softcap(x, 3.0f);
    }));
    cases.back().tolerance = relative_to_result(8 * kEps);
    cases.push_back(row_case(rng, "gather_rows", width, [](OpCase&, ValueId x) { return x; }));
    cases.back().tolerance = exact();
  }
}

}  // namespace llmrt::test
