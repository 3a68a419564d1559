#include "base/half.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

using namespace llmrt;

TEST_CASE("half: every f16 value survives the way to f32 and back") {
  for (uint32_t h = 0; h < 0x10000u; ++h) {
    const float f = f16_to_f32(static_cast<uint16_t>(h));
    if (std::isnan(f)) continue;
    REQUIRE(f32_to_f16(f) == h);
  }
}

TEST_CASE("half: f16 rounds to nearest even at every border between neighbours") {
  for (uint32_t h = 0; h < 0x7bffu; ++h) {
    const double lo = f16_to_f32(static_cast<uint16_t>(h)),
                 hi = f16_to_f32(static_cast<uint16_t>(h + 1));
    const float mid = static_cast<float>((lo + hi) / 2);  // exact: 12 bits
    REQUIRE(f32_to_f16(mid) == ((h & 1u) ? h + 1 : h));
    REQUIRE(f32_to_f16(std::nextafterf(mid, 0.0f)) == h);
    REQUIRE(f32_to_f16(std::nextafterf(mid, INFINITY)) == h + 1);
  }
  CHECK(f32_to_f16(65519.0f) == 0x7bff);
  CHECK(f32_to_f16(65520.0f) == 0x7c00);
  CHECK(std::isnan(f16_to_f32(f32_to_f16(NAN))));
}

TEST_CASE("half: bf16 rounds to nearest even and keeps NaN") {
  CHECK(f32_to_bf16(1.0f) == 0x3f80);
  CHECK(f32_to_bf16(1.00390625f) == 0x3f80);  // half way to 0x3f81, even stays
  CHECK(f32_to_bf16(1.01171875f) == 0x3f82);  // half way from 0x3f81, goes to even
  CHECK(f32_to_bf16(3.4e38f) == 0x7f80);
  CHECK(std::isnan(bf16_to_f32(f32_to_bf16(NAN))));
}
