// exp, log, tanh, silu, gelu, sin and cos of our own: the same bits on every machine, compiler and ISA table (docs/NUMERICS.md).
//
// The order of operations in each function is part of the contract: a vectorised copy must do the same adds, multiplies and fused
// multiply-adds lane by lane. All are branch-free (selects only, no tables), so a plain loop over floats vectorises; all are
// always_inline, so that a translation unit built for a wide ISA never shares a symbol with a baseline one.
// Bounds are against the exact value, measured by tests/graph/math_test.cpp over dense samples of the whole domain:
//
//   exp_f32    1.1 ulp    below -87.33 the result is +0 (no subnormals), above 88.72 +inf
//   log_f32    1 ulp      subnormals count as 0 (-inf), negative gives NaN
//   tanh_f32   2 ulp
//   exp_f64, log_f64      1 ulp; sincos_f64  1e-15 absolute for |x| <= 2^30
// NaN in gives NaN out everywhere.
#pragma once

#include <cstdint>

#define LLMRT_MATH_INLINE __attribute__((always_inline)) inline

namespace llmrt {

LLMRT_MATH_INLINE uint32_t float_bits(float x) { return __builtin_bit_cast(uint32_t, x); }
LLMRT_MATH_INLINE float float_from_bits(uint32_t u) { return __builtin_bit_cast(float, u); }

// condition ? a : b by bit masks: compilers may not turn it into a branch, so loops stay vectorisable with trapping arithmetic.
LLMRT_MATH_INLINE float select_f32(bool condition, float a, float b) {
  const uint32_t mask = 0u - static_cast<uint32_t>(condition);
  return float_from_bits((float_bits(a) & mask) | (float_bits(b) & ~mask));
}

// 2^n for n in [-126, 127].
LLMRT_MATH_INLINE float exp2_int_f32(int32_t n) {
  return float_from_bits(static_cast<uint32_t>(n + 127) << 23);
}

// x = n ln2 + r, |r| <= ln2 / 2; e^r by a polynomial of degree 7 (Cephes), times 2^n in two exact halves.
LLMRT_MATH_INLINE float exp_f32(float x) {
  constexpr float kMagic = 0x1.8p23f;  // adding it rounds to an integer, left in the low bits
  constexpr float kLog2e = 1.44269504f;
  constexpr float kLn2Hi = 0x1.62e4p-1f, kLn2Lo = 0x1.7f7d1cp-20f;
  constexpr float kLowest = -87.33654f, kHighest = 88.72283f;
  const float clamped = select_f32(x < kLowest, kLowest, select_f32(x > kHighest, kHighest, x));
  const float t = __builtin_fmaf(clamped, kLog2e, kMagic);
  const float n = t - kMagic;
  const int32_t ni = static_cast<int32_t>(float_bits(t) & 0x3ffu) -
                     (static_cast<int32_t>(float_bits(t) & 0x200u) << 1);
  float r = __builtin_fmaf(n, -kLn2Hi, clamped);
  r = __builtin_fmaf(n, -kLn2Lo, r);
  float p = 1.9875691500e-4f;
  p = __builtin_fmaf(p, r, 1.3981999507e-3f);
  p = __builtin_fmaf(p, r, 8.3334519073e-3f);
  p = __builtin_fmaf(p, r, 4.1665795894e-2f);
  p = __builtin_fmaf(p, r, 1.6666665459e-1f);
  p = __builtin_fmaf(p, r, 5.0000001201e-1f);
  p = __builtin_fmaf(p, r * r, r) + 1.0f;
  const int32_t half = ni >> 1;
  const float y = p * exp2_int_f32(half) * exp2_int_f32(ni - half);
  return select_f32(x < kLowest, 0.0f, select_f32(x > kHighest, __builtin_inff(), y));
}

// x = 2^k m, m in [sqrt(1/2), sqrt(2)); log m = f - f^2/2 + s (f^2/2 + R(s^2)), f = m - 1, s = f / (2 + f)   (FreeBSD's e_logf.c)
LLMRT_MATH_INLINE float log_f32(float x) {
  constexpr float kLn2Hi = 6.9313812256e-01f, kLn2Lo = 9.0580006145e-06f;
  constexpr float kL1 = 0xaaaaaa.0p-24f, kL2 = 0xccce13.0p-25f, kL3 = 0x91e9ee.0p-25f,
                  kL4 = 0xf89e26.0p-26f;
  constexpr uint32_t kSqrtHalf = 0x3f3504f3u;
  const uint32_t shifted = float_bits(x) + (0x3f800000u - kSqrtHalf);
  const float k = static_cast<float>(static_cast<int32_t>(shifted >> 23) - 127);
  const float f = float_from_bits((shifted & 0x7fffffu) + kSqrtHalf) - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s;
  const float w = z * z;
  const float even = w * __builtin_fmaf(w, kL4, kL2);
  const float odd = z * __builtin_fmaf(w, kL3, kL1);
  const float half_square = 0.5f * f * f;
  const float small = __builtin_fmaf(s, half_square + (odd + even), k * kLn2Lo);
  const float y = __builtin_fmaf(k, kLn2Hi, (small - half_square) + f);
  const float positive =
      select_f32(float_bits(x) >= 0x7f800000u, x, select_f32(x < 0x1p-126f, -__builtin_inff(), y));
  return select_f32(x < 0.0f, __builtin_nanf(""), positive);
}

// |x| < 0.625: x + x^3 P(x^2) (Cephes); else sign(x) (1 - 2 / (e^(2|x|) + 1)).
LLMRT_MATH_INLINE float tanh_f32(float x) {
  const float a = float_from_bits(float_bits(x) & 0x7fffffffu);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = __builtin_fmaf(p, z, 2.06390887954e-2f);
  p = __builtin_fmaf(p, z, -5.37397155531e-2f);
  p = __builtin_fmaf(p, z, 1.33314422036e-1f);
  p = __builtin_fmaf(p, z, -3.33332819422e-1f);
  const float near = __builtin_fmaf(p * z, x, x);
  const float far = 1.0f - 2.0f / (exp_f32(a + a) + 1.0f);
  const float signed_far = float_from_bits(float_bits(far) | (float_bits(x) & 0x80000000u));
  return select_f32(a < 0.625f, near, signed_far);
}

// x / (1 + e^-x)
LLMRT_MATH_INLINE float silu_f32(float x) { return x / (1.0f + exp_f32(-x)); }

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
LLMRT_MATH_INLINE float gelu_tanh_f32(float x) {
  const float inner = 0.7978845608f * __builtin_fmaf(0.044715f * x * x, x, x);
  return 0.5f * x * (1.0f + tanh_f32(inner));
}

// Double precision, for rope tables and model constants: made once at load, never in a kernel.

// As exp_f32, with the rational form of FreeBSD's e_exp.c. |x| <= 700; beyond that the ends.
LLMRT_MATH_INLINE double exp_f64(double x) {
  constexpr double kMagic = 0x1.8p52;
  constexpr double kLn2Hi = 6.93147180369123816490e-01, kLn2Lo = 1.90821492927058770002e-10;
  const double clamped = x < -700.0 ? -700.0 : (x > 700.0 ? 700.0 : x);
  const double n = __builtin_fma(clamped, 1.44269504088896338700, kMagic) - kMagic;
  const double hi = __builtin_fma(n, -kLn2Hi, clamped);
  const double lo = n * kLn2Lo;
  const double r = hi - lo;
  const double t = r * r;
  double c = 4.13813679705723846039e-08;
  c = __builtin_fma(c, t, -1.65339022054652515390e-06);
  c = __builtin_fma(c, t, 6.61375632143793436117e-05);
  c = __builtin_fma(c, t, -2.77777777770155933842e-03);
  c = __builtin_fma(c, t, 1.66666666666666019037e-01);
  const double q = __builtin_fma(-c, t, r);
  const double y = 1.0 - ((lo - (r * q) / (2.0 - q)) - hi);
  const int64_t ni = n != n ? 0 : static_cast<int64_t>(n);
  return y * __builtin_bit_cast(double, static_cast<uint64_t>(ni + 1023) << 52);
}

// x > 0 and normal.
LLMRT_MATH_INLINE double log_f64(double x) {
  constexpr double kLn2Hi = 6.93147180369123816490e-01, kLn2Lo = 1.90821492927058770002e-10;
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e00000000u;
  const uint64_t shifted = __builtin_bit_cast(uint64_t, x) + (0x3ff0000000000000u - kSqrtHalf);
  const double k = static_cast<double>(static_cast<int64_t>(shifted >> 52) - 1023);
  const double f = __builtin_bit_cast(double, (shifted & 0xfffffffffffffu) + kSqrtHalf) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double w = z * z;
  const double even = w * (3.999999999940941908e-01 +
                           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double half_square = 0.5 * f * f;
  return k * kLn2Hi - ((half_square - (s * (half_square + (odd + even)) + k * kLn2Lo)) - f);
}

// base^y for base > 0.
LLMRT_MATH_INLINE double pow_f64(double base, double y) { return exp_f64(y * log_f64(base)); }

struct SinCos {
  double sin, cos;
};

// x = n pi/2 + r, |r| <= pi/4, pi/2 in two doubles; polynomials of FreeBSD's k_sin.c and k_cos.c; n mod 4 picks and signs them.
LLMRT_MATH_INLINE SinCos sincos_f64(double x) {
  constexpr double kMagic = 0x1.8p52;
  constexpr double kHalfPiHi = 0x1.921fb54442d18p0, kHalfPiLo = 0x1.1a62633145c07p-54;
  const double n = __builtin_fma(x, 0x1.45f306dc9c883p-1, kMagic) - kMagic;
  const double r = __builtin_fma(n, -kHalfPiLo, __builtin_fma(n, -kHalfPiHi, x));
  const double z = r * r;
  double s = 1.58969099521155010221e-10;
  s = __builtin_fma(s, z, -2.50507602534068634195e-08);
  s = __builtin_fma(s, z, 2.75573137070700676789e-06);
  s = __builtin_fma(s, z, -1.98412698298579493134e-04);
  s = __builtin_fma(s, z, 8.33333333332248946124e-03);
  s = __builtin_fma(s, z, -1.66666666666666324348e-01);
  const double sine = __builtin_fma(s * z, r, r);
  double c = -1.13596475577881948265e-11;
  c = __builtin_fma(c, z, 2.08757232129817482790e-09);
  c = __builtin_fma(c, z, -2.75573143513906633035e-07);
  c = __builtin_fma(c, z, 2.48015872894767294178e-05);
  c = __builtin_fma(c, z, -1.38888888888741095749e-03);
  c = __builtin_fma(c, z, 4.16666666666666019037e-02);
  const double cosine = __builtin_fma(z * z, c, __builtin_fma(-0.5, z, 1.0));
  const uint32_t quadrant = n != n ? 0u : static_cast<uint32_t>(static_cast<int64_t>(n)) & 3u;
  const double a = quadrant & 1u ? cosine : sine;
  const double b = quadrant & 1u ? sine : cosine;
  return {quadrant & 2u ? -a : a, (quadrant + 1u) & 2u ? -b : b};
}

}  // namespace llmrt
