#include "sampling/rng.h"

#include <set>

#include "support.h"

using namespace llmrt;

TEST_CASE("rng: philox gives the known answers of Random123") {
  CHECK(philox4x32({0, 0, 0, 0}, 0) ==
        PhiloxCounter{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
  CHECK(philox4x32({~0u, ~0u, ~0u, ~0u}, ~uint64_t{0}) ==
        PhiloxCounter{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
  CHECK(philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0x299f31d0a4093822u) ==
        PhiloxCounter{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
}

TEST_CASE("rng: uniform stays inside (0, 1) and is flat") {
  std::vector<int> bins(64);
  const int n = 640000;
  for (int i = 0; i < n; ++i) {
    const float v =
        uniform(3, static_cast<uint32_t>(i), RandomStream::gumbel, static_cast<uint32_t>(i % 7));
    if (!(v > 0.0f && v < 1.0f)) FAIL("outside (0, 1)");
    ++bins[static_cast<size_t>(v * 64)];
  }
  double chi = 0;
  for (const int count : bins) chi += (count - n / 64.0) * (count - n / 64.0) / (n / 64.0);
  CHECK(chi < 63 + 6 * std::sqrt(2.0 * 63));
}

TEST_CASE("rng: every part of the key changes the draw") {
  std::set<float> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40, uint64_t{1} << 63})
    for (const uint32_t position : {0u, 1u, 70000u})
      for (const RandomStream stream : {RandomStream::gumbel, RandomStream::xtc})
        for (const uint32_t token : {0u, 1u, 262143u})
          seen.insert(uniform(seed, position, stream, token));
  CHECK(seen.size() == 4 * 3 * 2 * 3);
}

TEST_CASE(
    "rng: gumbel noise equals -log(-log(1 - v)) within 4 ulp of its parts, to the smallest v") {
  for (double v = 0x1p-63; v < 0x1.fffffep-1; v *= 1.37) {
    const auto f = static_cast<float>(v);
    const double exact = -std::log(-std::log1p(-static_cast<double>(f)));
    // The log of a value with relative error e has absolute error e; 4 x 2^-24 for it, 1 ulp for the outer log.
    CHECK(std::fabs(static_cast<double>(gumbel_from_uniform(f)) - exact) <=
          4 * 0x1p-24 + 2 * 0x1p-24 * std::fabs(exact));
  }
  CHECK(gumbel_from_uniform(0x1.fffffep-1f) == doctest::Approx(-2.8115).epsilon(1e-3));
}

TEST_CASE("rng: sample seeds of one request differ and depend on all seed bits") {
  std::set<uint64_t> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 40})
    for (uint32_t i = 0; i < 16; ++i) seen.insert(mix_seed(seed, i));
  CHECK(seen.size() == 48);
}
