// e^x of masses (mass.h), inline for the loops that take many at a time, in builds for several instruction sets.
#pragma once

#include "base/math.h"

namespace llmrt {

inline constexpr float kMassOne = 0x1p40f;

// e^x for x <= 0, 0 below -87; relative error 2.5e-7. x = n ln2 + r, |r| <= ln2 / 2 and n kLn2Hi exact; degree 6 polynomial (Cephes' expf).
// Without fused multiply-adds: a baseline build would call libm for each, and this runs over whole vocabularies. Same operations
// everywhere, so the same bits everywhere.
LLMRT_MATH_INLINE float exp_below_zero(float x) {
  constexpr float kMagic = 0x1.8p23f, kLog2e = 1.44269504f, kLn2Hi = 0.693359375f,
                  kLn2Lo = -2.12194440e-4f, kLowest = -87.0f;
  const float clamped = select_f32(x < kLowest, kLowest, x);
  const float t = clamped * kLog2e + kMagic;
  const float n = t - kMagic;
  const float r = (clamped - n * kLn2Hi) - n * kLn2Lo;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * (r * r) + r) + 1.0f;
  // The low bits of t hold n in two's complement; n is in [-126, 0].
  const float scaled = p * float_from_bits((float_bits(t) << 23) + 0x3f800000u);
  return select_f32(x < kLowest, 0.0f, scaled);
}

}  // namespace llmrt
