// Rows sorted by expert, and the choice of experts on every table.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "backends/cpu/expert_groups.h"
#include "base/float_control.h"
#include "base/math.h"
#include "cpu/kernel_tables.h"

using namespace llmrt;

namespace {

uint32_t pick(std::mt19937& rng, uint32_t n) { return static_cast<uint32_t>(rng() % n); }

// By sorting ids: greater first, the lower id of equal ones, NaN above all.
std::vector<float> chosen(const std::vector<float>& scores, uint32_t n_used, bool renormalise) {
  std::vector<uint32_t> ids(scores.size());
  std::iota(ids.begin(), ids.end(), 0u);
  const auto key = [&](uint32_t i) { return std::isnan(scores[i]) ? INFINITY : scores[i]; };
  std::stable_sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) {
    return key(a) > key(b) || (std::isnan(scores[a]) && !std::isnan(scores[b]));
  });
  std::vector<float> out(2 * n_used);
  float total = 0;
  for (size_t i = 0; i < scores.size(); ++i)
    if (!renormalise || i < n_used)
      total += exp_f32(scores[renormalise ? ids[i] : i] - scores[ids[0]]);
  for (uint32_t r = 0; r < n_used; ++r) {
    out[r] = static_cast<float>(ids[r]);
    out[n_used + r] = exp_f32(scores[ids[r]] - scores[ids[0]]) / total;
  }
  return out;
}

}  // namespace

TEST_CASE("rows of an expert lie together, in order, and every entry has its slot") {
  std::mt19937 rng(3);
  cpu::ExpertGroups groups;
  constexpr uint32_t kMostExperts = 40, kMostRows = 60, kMostUsed = 8;
  groups.reserve(kMostExperts, kMostRows * kMostUsed);
  for (int round = 0; round < 300; ++round) {
    const uint32_t n_expert = 1 + pick(rng, kMostExperts), n_rows = pick(rng, kMostRows + 1);
    const uint32_t n_used = 1 + pick(rng, std::min(n_expert, kMostUsed)), stride = 2 * n_used + 3;
    const uint32_t popular = 1 + pick(rng, n_expert);  // rows choose among so many
    std::vector<float> routes(size_t{n_rows} * stride, -1.0f);
    for (uint32_t row = 0; row < n_rows; ++row)
      for (uint32_t r = 0; r < n_used; ++r)
        routes[size_t{row} * stride + r] = static_cast<float>((pick(rng, popular) + r) % n_expert);
    groups.sort(routes.data(), stride, n_rows, n_used, n_expert);
    uint32_t slot = 0, next_expert = 0;
    for (const auto& g : groups.groups()) {
      REQUIRE(g.n > 0);
      REQUIRE(g.begin == slot);
      REQUIRE(g.expert >= next_expert);
      next_expert = g.expert + 1;
      for (uint32_t i = 0; i < g.n; ++i, ++slot) {
        const uint32_t entry = groups.entries()[slot];
        REQUIRE(groups.slot(entry) == slot);
        REQUIRE((i == 0 || entry > groups.entries()[slot - 1]));
        REQUIRE(routes[size_t{entry / n_used} * stride + entry % n_used] ==
                static_cast<float>(g.expert));
      }
    }
    REQUIRE(slot == n_rows * n_used);
  }
}

TEST_CASE(
    "every table chooses the same experts with the same weights, of equal and broken scores too") {
  const FloatScope floats(FloatMode::compute);
  std::mt19937 rng(4);
  std::normal_distribution<float> normal(0.0f, 3.0f);
  const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, 1.0f, 1e30f};
  for (const cpu::KernelTable* table : test::kernel_tables()) {
    CAPTURE(table->name);
    for (int round = 0; round < 400; ++round) {
      const uint32_t n_expert = 1 + pick(rng, 130), n_used = 1 + pick(rng, std::min(n_expert, 9u));
      std::vector<float> scores(n_expert);
      for (float& s : scores) {
        s = round % 2 ? normal(rng) : std::round(normal(rng));
        if (round % 5 == 0) s = odd[pick(rng, round % 10 ? 8 : 2)];
      }
      for (const bool renormalise : {true, false}) {
        std::vector<float> out(2 * n_used);
        table->route(scores.data(), out.data(), n_expert, n_used, renormalise);
        const auto want = chosen(scores, n_used, renormalise);
        for (uint32_t i = 0; i < 2 * n_used; ++i)
          REQUIRE((out[i] == want[i] || (std::isnan(out[i]) && std::isnan(want[i]))));
      }
    }
  }
}

TEST_CASE("a weighted sum is one fma for each term, in order, on every table") {
  const FloatScope floats(FloatMode::compute);
  std::mt19937 rng(5);
  std::normal_distribution<float> normal;
  for (const uint32_t n : {1u, 15u, 16u, 17u, 100u})
    for (const uint32_t n_terms : {1u, 2u, 8u}) {
      std::vector<float> in(size_t{n} * n_terms), weight(n_terms), want(n, 0.0f);
      for (float& x : in) x = normal(rng);
      for (float& w : weight) w = normal(rng);
      for (uint32_t r = 0; r < n_terms; ++r)
        for (uint32_t i = 0; i < n; ++i)
          want[i] = std::fma(weight[r], in[size_t{r} * n + i], want[i]);
      for (const cpu::KernelTable* table : test::kernel_tables()) {
        CAPTURE(table->name);
        std::vector<float> out(n, NAN);
        table->weighted_sum(in.data(), weight.data(), n_terms, out.data(), n);
        CHECK(std::memcmp(out.data(), want.data(), n * sizeof(float)) == 0);
      }
    }
}
