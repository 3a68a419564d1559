// kv_append and paged_attention: GQA shapes, windows, codecs, block sizes, histories that cross tiles and the chunk border.
#include <algorithm>
#include <cmath>

#include "ops/op_cases.h"

namespace llmrt::test {
namespace {

constexpr double kEps = 0x1p-24;

struct Shape {
  uint32_t heads, kv_heads, d;
  std::vector<uint32_t> windows;  // one layer each
  const char* kv_type;
  uint32_t block_tokens;
  float softcap = 0;
};

// Row i picks column (i * step + shift) % k: a linear layer that is exact in every order of sums.
std::vector<float> selection(uint32_t n, uint32_t k, uint32_t step, uint32_t shift) {
  std::vector<float> w(size_t{n} * k);
  for (uint32_t i = 0; i < n; ++i) w[size_t{i} * k + (i * step + shift) % k] = 1;
  return w;
}

OpCase attention_case(Rng& rng, const Shape& s) {
  const uint32_t width = s.heads * s.d, kv_width = s.kv_heads * s.d;
  OpCase c;
  c.name = std::string("attention ") + std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) +
           "x" + std::to_string(s.d) + " " + s.kv_type + " blocks of " +
           std::to_string(s.block_tokens) + (s.softcap > 0 ? " softcap" : "");
  c.kv_type = s.kv_type;
  c.block_tokens = s.block_tokens;
  c.start = {0, 0, 0};
  c.passes = {
      {{0, 70}, {1, 3}}, {{1, 40}, {0, 1}, {2, 1}}, {{0, 195}, {2, 2}}, {{0, 1}, {1, 1}, {2, 1}}};

  Program& p = c.kit.program;
  p.n_embd = width;
  for (uint32_t window : s.windows) {
    c.name += " window " + std::to_string(window);
    p.kv_layers.push_back({static_cast<uint32_t>(p.kv_groups.size()), 0});
    p.kv_groups.push_back(
        {window ? AttnKind::window : AttnKind::full, window, 1, s.kv_heads, s.d, s.d});
  }
  const auto x_values = random_floats(rng, size_t{width} * width);
  const WeightIndex table = c.kit.add_f32("table", width, width, x_values);
  const WeightIndex wk = c.kit.add_f32("wk", kv_width, width, selection(kv_width, width, 5, 3));
  const WeightIndex wv = c.kit.add_f32("wv", kv_width, width, selection(kv_width, width, 7, 1));
  const float scale = 1.0f / std::sqrt(static_cast<float>(s.d));
  Builder b = c.kit.builder();
  const ValueId x = b.embed(table), k = b.linear(x, wk), v = b.linear(x, wv);
  ValueId sum = kNone;
  for (uint32_t layer = 0; layer < s.windows.size(); ++layer) {
    b.kv_append(k, v, layer);
    const ValueId out = b.paged_attention(x, s.heads, layer, scale, s.softcap);
    sum = sum == kNone ? out : b.add(sum, out);
  }
  c.kit.finish(sum);

  // A score is off by (d + 4) eps scale |q| |k|, a weight by e^(2 off) and the roundings of its sum over n keys; the output is a mean
  // of values at most v_max. With b16 a weight may fall on the other side of a rounding of 2^-9, in the numerator and in the sum.
  double q_norm = 0, v_max = 0;
  for (size_t head = 0; head < x_values.size(); head += s.d) {
    double square = 0;
    for (uint32_t j = 0; j < s.d; ++j)
      square += double{x_values[head + j]} * double{x_values[head + j]};
    q_norm = std::max(q_norm, std::sqrt(square));
  }
  for (float value : x_values) v_max = std::max(v_max, std::fabs(double{value}));
  const double k_norm = v_max * std::sqrt(double(s.d));  // columns are shuffled
  const double score_off = (s.d + 4) * kEps * double{scale} * q_norm * k_norm;
  const bool b16 = std::string(s.kv_type).find("bf16") != std::string::npos;
  const double off = double(s.windows.size()) * v_max *
                     (2 * score_off + (300 + 16) * kEps + (b16 ? 3 * 0x1p-9 : 0));
  c.tolerance = [off](const PassValues& v) {
    return std::vector<float>(v.by_op.back().size(), static_cast<float>(off));
  };
  return c;
}

}  // namespace

void add_attention_cases(std::vector<OpCase>& cases) {
  Rng rng(9);
  const Shape shapes[] = {{4, 4, 32, {0}, "f32", 32},          {4, 2, 32, {0}, "f32", 16},
                          {6, 1, 32, {0}, "f32", 64},          {9, 3, 64, {0}, "f32", 32},
                          {2, 1, 80, {0}, "f32", 32},          {2, 2, 48, {0}, "f16", 32},
                          {2, 1, 128, {0}, "bf16", 32},        {1, 1, 256, {0}, "bf16", 16},
                          {9, 3, 64, {0}, "bf16", 32},         {4, 2, 32, {0}, "k=bf16,v=f32", 32},
                          {4, 2, 32, {0}, "k=f16,v=bf16", 64}, {3, 1, 80, {0}, "bf16", 64},
                          {4, 2, 32, {1}, "f32", 32},          {4, 2, 32, {5}, "f32", 16},
                          {4, 2, 32, {24}, "bf16", 32},        {4, 2, 32, {64}, "f32", 32},
                          {4, 2, 32, {65}, "bf16", 64},        {4, 2, 32, {200}, "f32", 32},
                          {4, 1, 64, {0, 24}, "bf16", 32},     {4, 2, 32, {16, 0, 100}, "f32", 16},
                          {4, 2, 32, {0}, "f32", 32, 20.0f},   {4, 2, 64, {30}, "bf16", 32, 5.0f},
                          {5, 5, 16, {0}, "f32", 32},          {2, 1, 96, {0}, "bf16", 32}};
  for (const Shape& shape : shapes) cases.push_back(attention_case(rng, shape));
}

}  // namespace llmrt::test
