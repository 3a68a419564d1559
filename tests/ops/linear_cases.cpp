// embed, linear and expert_linear: every weight type, ragged N, K and row counts.
#include <algorithm>
#include <cmath>

#include "ops/op_cases.h"
#include "support/block_scales.h"

namespace llmrt::test {
namespace {

constexpr float kEps = 0x1p-24f;

std::vector<uint8_t> random_weight(Rng& rng, const QuantFormat& format, uint32_t n, uint32_t k) {
  std::vector<uint8_t> bytes(n * row_bytes(format, k));
  if (format.block == 1) {
    const auto values = random_floats(rng, size_t{n} * k, 0.3f);
    format.encode ? format.encode(values.data(), bytes.data(), values.size())
                  : void(bytes = bytes_of(values));
    return bytes;
  }
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(rng());
  for (size_t block = 0; block < bytes.size(); block += format.block_bytes) {
    if (format.type == DType::mxfp4)
      bytes[block] = static_cast<uint8_t>(120 + rng() % 8);  // 2^-7 .. 1
    set_block_scales(format.type, &bytes[block], [&] {
      return (rng() % 2 ? 1.0f : -1.0f) * 0.001f * static_cast<float>(1 + rng() % 20);
    });
  }
  return bytes;
}

std::vector<float> decoded(const QuantFormat& format, const std::vector<uint8_t>& bytes, uint32_t n,
                           uint32_t k) {
  std::vector<float> out(size_t{n} * k);
  for (uint32_t r = 0; r < n; ++r)
    format.decode(bytes.data() + r * row_bytes(format, k), out.data() + size_t{r} * k, k);
  return out;
}

// Class f32: the same bits; without fused multiply-add, gamma_K sum |w x|.
// Class a8: an activation is off by at most half a step, amax / 254 of its group; float sums of one term a group, of weights whose
// scale and minimum parts are each at most 3 times the row's largest value.
std::vector<float> linear_tolerance(const QuantFormat& format, const std::vector<float>& w,
                                    uint32_t n, uint32_t k, bool bias, bool fused,
                                    std::span<const float> x) {
  const size_t n_rows = x.size() / k;
  std::vector<float> out(n_rows * n);
  for (size_t r = 0; r < n_rows; ++r) {
    std::vector<double> step(k, 0.0);
    double sum_x = 0;
    for (uint32_t g = 0; format.group && g < k; g += format.group) {
      double amax = 0;
      for (uint32_t j = g; j < std::min(k, g + format.group); ++j)
        amax = std::max(amax, std::fabs(double{x[r * k + j]}));
      std::fill(step.begin() + g, step.begin() + std::min(k, g + format.group),
                amax / 254 * 1.0001);
    }
    for (uint32_t j = 0; j < k; ++j) sum_x += std::fabs(double{x[r * k + j]});
    for (uint32_t i = 0; i < n; ++i) {
      double off = 0, size = 0, w_max = 0;
      for (uint32_t j = 0; j < k; ++j) {
        const double a = std::fabs(double{w[size_t{i} * k + j]});
        off += a * step[j];
        size += a * std::fabs(double{x[r * k + j]});
        w_max = std::max(w_max, a);
      }
      double tolerance = 0;
      if (format.numerics == NumericsClass::a8)
        tolerance =
            off + (4.0 * k / format.group + k / 32.0 + 40) * double{kEps} * (3 * w_max * sum_x);
      else if (!fused)
        tolerance = (k + 10.0) * double{kEps} * size;
      if (tolerance > 0 && bias) tolerance += double{kEps} * (size + 8);
      out[r * n + i] = static_cast<float>(tolerance);
    }
  }
  return out;
}

OpCase linear_case(Rng& rng, const QuantFormat& format, uint32_t n, uint32_t k, bool bias,
                   std::vector<std::vector<SeqRows>> passes) {
  OpCase c;
  c.name = std::string("linear ") + format.name + " [" + std::to_string(n) + "," +
           std::to_string(k) + "]" + (bias ? " bias" : "");
  c.passes = std::move(passes);
  c.kit.program.n_embd = k;
  auto x = random_floats(rng, size_t{n} * k);
  for (size_t i = 0; i < x.size(); i += 97) x[i] *= 20;  // outliers
  const WeightIndex table = c.kit.add_f32("table", n, k, x);
  const auto bytes = random_weight(rng, format, n, k);
  const WeightIndex w = c.kit.add("w", format.type, n, k, bytes);
  const WeightIndex b = bias ? c.kit.add_f32("bias", 1, n, random_floats(rng, n)) : kNone;
  Builder builder = c.kit.builder();
  c.kit.finish(builder.linear(builder.embed(table), w, b));
  c.tolerance = [format, values = decoded(format, bytes, n, k), n, k, bias](const PassValues& v) {
    return linear_tolerance(format, values, n, k, bias, v.fused_multiply_add, v.by_op[0]);
  };
  return c;
}

}  // namespace

void add_linear_cases(std::vector<OpCase>& cases) {
  Rng rng(1);
  const std::vector<std::vector<SeqRows>> few = {{{0, 1}}, {{0, 2}}, {{0, 3}}},
                                          many = {{{0, 7}}, {{0, 13}}, {{0, 70}}};
  for (const QuantFormat& format : all_formats()) {
    const uint32_t b = format.block;
    const std::vector<uint32_t> ks = b == 256 ? std::vector<uint32_t>{256, 768, 2304}
                                     : b == 1 ? std::vector<uint32_t>{8, 100, 256, 576, 1120}
                                              : std::vector<uint32_t>{b, 9 * b, 18 * b, 35 * b};
    for (uint32_t k : ks) {
      cases.push_back(linear_case(rng, format, 33, k, false, few));
      cases.push_back(linear_case(rng, format, 48, k, true, many));
    }
    for (uint32_t n : {1u, 15u, 16u, 17u})
      cases.push_back(linear_case(rng, format, n, ks[1], n == 15, few));
    cases.push_back(linear_case(rng, format, 200, ks[1], false, {{{0, 1}}, {{0, 12}}, {{0, 32}}}));
  }
}

// Each expert's rows are those of a linear of its own; a second case gives each choice its own input.
void add_expert_linear_cases(std::vector<OpCase>& cases) {
  Rng rng(12);
  constexpr uint32_t kExperts = 6, kUsed = 2;
  for (const QuantFormat& format : all_formats()) {
    const uint32_t k = format.block == 1 ? 100 : 3 * format.block;
    for (const bool own : {false, true}) {
      const uint32_t n = own ? 33 : 48, n_vocab = kUsed * n, width = own ? kUsed * k : k;
      OpCase c;
      c.name = std::string("expert_linear ") + format.name + (own ? " own inputs" : "");
      c.passes = {{{0, 1}}, {{0, 3}}, {{0, 70}}};
      const auto bytes = random_weight(rng, format, kExperts * n, k);
      Builder b = c.kit.builder();
      const ValueId x =
          b.embed(c.kit.add_f32("x", n_vocab, width, random_floats(rng, size_t{n_vocab} * width)));
      const ValueId route =
          b.route(b.embed(c.kit.add_f32("scores", n_vocab, kExperts,
                                        random_floats(rng, size_t{n_vocab} * kExperts))),
                  kUsed, true);
      const WeightIndex w = c.kit.add("w", format.type, n, k, bytes);
      c.kit.program.weights[w].n_expert = kExperts;
      c.kit.finish(b.expert_linear(x, route, w));
      c.tolerance = [format, values = decoded(format, bytes, kExperts * n, k), n, k, own,
                     width](const PassValues& v) {
        const std::vector<float>&in = v.by_op[0], &routes = v.by_op[2];
        std::vector<float> out;
        for (size_t row = 0; row < in.size() / width; ++row)
          for (uint32_t r = 0; r < kUsed; ++r) {
            const auto expert = static_cast<std::ptrdiff_t>(routes[row * 2 * kUsed + r]);
            const auto first = values.begin() + expert * n * k;
            const auto part =
                linear_tolerance(format, {first, first + std::ptrdiff_t{n} * k}, n, k, false,
                                 v.fused_multiply_add, {&in[row * width + (own ? r * k : 0)], k});
            out.insert(out.end(), part.begin(), part.end());
          }
        return out;
      };
      cases.push_back(std::move(c));
    }
  }
}

void add_embed_cases(std::vector<OpCase>& cases) {
  Rng rng(2);
  for (const QuantFormat& format : all_formats()) {
    const uint32_t n = format.block == 1 ? 100 : format.block == 32 ? 288 : 256;
    OpCase c;
    c.name = std::string("embed ") + format.name;
    c.passes = {{{0, 1}}, {{0, 50}}};
    c.kit.program.n_embd = n;
    const WeightIndex table =
        c.kit.add("table", format.type, n, n, random_weight(rng, format, n, n));
    Builder builder = c.kit.builder();
    c.kit.finish(builder.embed(table));
    // Decoding is bit-exact, but a fused multiply-add may cost 1 ulp.
    c.tolerance = [](const PassValues& v) {
      std::vector<float> out = v.by_op[0];
      for (float& x : out) x = 2 * kEps * std::fabs(x);
      return out;
    };
    cases.push_back(std::move(c));
  }
}

}  // namespace llmrt::test
