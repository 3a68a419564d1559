// The bounds that base/math.h states, against libm in double precision.
#include "base/math.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "support/worse.h"

using namespace llmrt;

namespace {

double ulp(double y) {
  int e = 0;
  std::frexp(std::max(std::fabs(y), 0x1p-126), &e);
  return std::ldexp(1.0, e - 24);
}

// Calls check(x) for bit patterns of all signs and magnitudes, NaN left out.
template <class Check>
void for_many_floats(Check check) {
  for (uint64_t u = 0; u <= 0xffffffffu; u += 4099) {
    const float x = float_from_bits(static_cast<uint32_t>(u));
    if (x == x) check(x);
  }
}

const float kInf = INFINITY;

}  // namespace

TEST_CASE("exp_f32 is within 1.1 ulp, flushes below 2^-126 and ends in infinity") {
  double worst = 0;
  for_many_floats([&](float x) {
    const double want = std::exp(static_cast<double>(x));
    const float got = exp_f32(x);
    if (want > 0x1.0001p-126 && want < 0x1.fffep127)
      worst = test::worse(worst, std::fabs(got - want) / ulp(want));
    else if (want < 0x1p-126)
      REQUIRE((got == 0.0f || got <= 0x1.0002p-126f));
  });
  CHECK(worst <= 1.1);
  CHECK(exp_f32(0.0f) == 1.0f);
  CHECK(exp_f32(-kInf) == 0.0f);
  CHECK(exp_f32(89.0f) == kInf);
  CHECK(exp_f32(88.7f) < kInf);
  CHECK(std::isnan(exp_f32(NAN)));
}

TEST_CASE("log_f32 is within 1 ulp of the logarithm of every normal number") {
  double worst = 0;
  for_many_floats([&](float x) {
    if (x < 0x1p-126f || x == kInf) return;
    const double want = std::log(static_cast<double>(x));
    worst = test::worse(worst, std::fabs(log_f32(x) - want) / ulp(want));
  });
  CHECK(worst <= 1.0);
  CHECK(log_f32(1.0f) == 0.0f);
  CHECK(log_f32(0.0f) == -kInf);
  CHECK(log_f32(0x1p-130f) == -kInf);
  CHECK(log_f32(kInf) == kInf);
  CHECK(std::isnan(log_f32(-1.0f)));
  CHECK(std::isnan(log_f32(NAN)));
}

TEST_CASE("tanh_f32 is within 2 ulp and saturates") {
  double worst = 0;
  for_many_floats([&](float x) {
    const double want = std::tanh(static_cast<double>(x));
    worst = test::worse(worst, std::fabs(tanh_f32(x) - want) / ulp(want));
  });
  CHECK(worst <= 2.0);
  CHECK(tanh_f32(kInf) == 1.0f);
  CHECK(tanh_f32(-kInf) == -1.0f);
  CHECK(std::isnan(tanh_f32(NAN)));
}

TEST_CASE("silu and gelu follow their equations over the range of activations") {
  for (float x = -30; x <= 30; x += 0.0037f) {
    const double d = x;
    const double silu = d / (1 + std::exp(-d));
    const double gelu =
        0.5 * d * (1 + std::tanh(0.79788456080286535588 * (d + 0.044715 * d * d * d)));
    // A sum of two roundings; gelu's 1 + tanh cancels for negative x, so its bound is absolute in x.
    REQUIRE(std::fabs(silu_f32(x) - silu) <= 4 * 0x1p-24 * std::fabs(silu) + 0x1p-126);
    REQUIRE(std::fabs(gelu_tanh_f32(x) - gelu) <= 4 * 0x1p-24 * std::fabs(d));
  }
  CHECK(silu_f32(-200.0f) == 0.0f);
}

TEST_CASE("double functions stay within their bounds at rope's sizes") {
  double worst_angle = 0, worst_exp = 0, worst_log = 0;
  for (int i = 0; i < 300000; ++i) {
    const double x = (i % 3 ? 0.7310589 : 292.4) * i - 1e5;
    const SinCos got = sincos_f64(x);
    worst_angle = test::worse(worst_angle, std::fabs(got.sin - std::sin(x)));
    worst_angle = test::worse(worst_angle, std::fabs(got.cos - std::cos(x)));
    const double y = (i - 150000) / 220.0;
    worst_exp = test::worse(worst_exp, std::fabs(exp_f64(y) / std::exp(y) - 1));
    const double z = std::exp(y / 2);
    worst_log = test::worse(
        worst_log, std::fabs(log_f64(z) - std::log(z)) / std::max(1.0, std::fabs(std::log(z))));
  }
  CHECK(worst_angle <= 1e-15);
  CHECK(worst_exp <= 2.3e-16);
  CHECK(worst_log <= 2.3e-16);
  CHECK(pow_f64(10000.0, -0.5) == doctest::Approx(0.01).epsilon(1e-15));
}
