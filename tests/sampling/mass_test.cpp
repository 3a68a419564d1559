#include "sampling/mass.h"

#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

TEST_CASE("mass: exp below zero is within 2.5e-7 and ends in zero") {
  for (float x = 0; x > -87; x -= 0.00371f) {
    const double exact = std::exp(static_cast<double>(x));
    REQUIRE(std::fabs(static_cast<double>(exp_below_zero(x)) - exact) <= 2.5e-7 * exact);
  }
  CHECK(exp_below_zero(0) == 1.0f);
  CHECK(exp_below_zero(-87.5f) == 0.0f);
  CHECK(exp_below_zero(-kInf) == 0.0f);
}

TEST_CASE("mass: the total is the sum of single masses in any order and close to the exact sum") {
  std::mt19937 rng(2);
  auto logits = random_logits(rng, 3001, 4);
  Candidates c = candidates_of(logits);
  const float max = max_logit(c);
  const uint64_t total = total_mass(c.items, max);
  CHECK(total_mass(logits, max) == total);
  uint64_t single = 0;
  for (const Candidate& item : c.items) single += mass_of(item.logit, max);
  CHECK(single == total);
  std::shuffle(c.items.begin(), c.items.end(), rng);
  CHECK(total_mass(c.items, max) == total);
  double exact = 0;
  for (const float l : logits) exact += std::exp(static_cast<double>(l) - static_cast<double>(max));
  // 2.5e-7 relative for each term, one unit of 2^-40 for its truncation.
  CHECK(std::fabs(static_cast<double>(total) * 0x1p-40 - exact) <= 2.5e-7 * exact + 3001 * 0x1p-40);
}
