#include "sampling/draw.h"

#include "sampling/rng.h"
#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

void check_row(const std::vector<float>& row, float temperature, std::mt19937& rng) {
  RowSelect select;
  REQUIRE(select.scan(row));
  const float max = temperature == 1 ? 0 : select.max();
  Candidates c = candidates_of(row);
  for (Candidate& item : c.items) item.logit = cooled(item.logit, max, temperature);
  std::shuffle(c.items.begin(), c.items.end(), rng);
  const SampleContext context{{}, rng(), static_cast<uint32_t>(rng() % 1000)};
  const Token want = plain_argmax(c.items, context);
  CHECK(draw(c.items, context) == want);
  CHECK(draw(row, select, max, temperature, context) == want);
}

}  // namespace

TEST_CASE("draw: a list and a row give the token of the plain argmax, whatever is skipped") {
  std::mt19937 rng(1);
  for (const size_t n : {1u, 2u, 15u, 16u, 17u, 255u, 256u, 257u, 1000u, 20001u}) {
    CAPTURE(n);
    for (int round = 0; round < 40; ++round) {
      auto row = random_logits(rng, n, round % 2 ? 3.0f : 0.01f);
      for (uint32_t i = rng() % 4; i > 0; --i) row[rng() % n] = static_cast<float>(rng() % 50);
      if (round % 4 == 1) {
        for (float& l : row) l = std::round(l);
      }
      if (round % 5 == 2) {
        for (size_t i = 0; i + 1 < n; ++i) row[i] = rng() % 9 ? -kInf : row[i];
      }
      for (const float temperature : {1.0f, 0.8f, 5.0f, 0.05f}) check_row(row, temperature, rng);
    }
  }
}

TEST_CASE(
    "draw: huge logits, where noise is below their last bit, and equal scores end at the lowest "
    "id") {
  std::mt19937 rng(2);
  for (const float size : {1e8f, 1e30f, 3e38f}) {
    for (int round = 0; round < 20; ++round) {
      auto row = random_logits(rng, 700, 0.1f);
      for (float& l : row) l = std::round(l * 10) / 10 * size;
      for (const float temperature : {1.0f, 0.7f}) check_row(row, temperature, rng);
    }
  }
  const std::vector<float> flat(700, 1e30f);
  RowSelect select;
  REQUIRE(select.scan(flat));
  CHECK(draw(flat, select, 0, 1, {{}, 5, 6}) == 0);
  CHECK(draw(candidates_of(flat).items, {{}, 5, 6}) == 0);
}

TEST_CASE("draw: a token far below the best is drawn when its noise is large enough") {
  // Seeds whose noise for token 300 exceeds 9: one in 8,100, so that a rule that skips too much would be seen.
  uint32_t n_found = 0;
  for (uint64_t seed = 0; seed < 200'000; ++seed) {
    const float noise = gumbel_from_uniform(uniform(seed, 0, RandomStream::gumbel, 300));
    if (noise < 9) continue;
    ++n_found;
    std::vector<float> row(600, -200.0f);
    row[300] = 0;
    for (const float above : {-0.001f, 0.001f}) {
      const float rival = gumbel_from_uniform(uniform(seed, 0, RandomStream::gumbel, 0));
      row[0] = noise - rival + above;
      RowSelect select;
      REQUIRE(select.scan(row));
      CHECK(draw(row, select, 0, 1, {{}, seed, 0}) == (above < 0 ? 300 : 0));
      CHECK(draw(candidates_of(row).items, {{}, seed, 0}) == (above < 0 ? 300 : 0));
    }
  }
  CHECK(n_found > 5);
}
