#include "sampling/row_select.h"

#include "graph/logit_blocks.h"
#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

void check_best(const std::vector<float>& row, uint32_t k) {
  RowSelect select;
  REQUIRE(select.scan(row));
  std::vector<Candidate> best;
  best.reserve(RowSelect::most_candidates(row.size(), k));
  const Candidate* place = best.data();
  select.best(row, k, best);
  CHECK(best.data() == place);
  std::vector<Token> want;
  for (const Token id : by_rank(row)) {
    if (want.size() < k && row[static_cast<size_t>(id)] > -kInf) want.push_back(id);
  }
  REQUIRE(best.size() == want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    CHECK(best[i].id == want[i]);
    CHECK(best[i].logit == row[static_cast<size_t>(want[i])]);
  }
}

}  // namespace

TEST_CASE("row_select: the k best equal a full stable sort, for any size, k and number of ties") {
  std::mt19937 rng(1);
  for (const size_t n : {1u, 7u, 16u, 255u, 256u, 257u, 5000u, 40001u}) {
    for (const uint32_t k : {1u, 2u, 40u, 300u, 5000u}) {
      auto row = random_logits(rng, n, 3);
      check_best(row, k);
      for (float& l : row) l = std::round(l);  // many ties
      check_best(row, k);
      for (size_t i = 0; i < n; i += 2) row[i] = -kInf;
      check_best(row, k);
      std::fill(row.begin(), row.end(), -1.5f);
      check_best(row, k);
    }
  }
}

TEST_CASE("row_select: NaN and +inf are seen at every place, -inf and the largest float are fine") {
  for (const size_t n : {1u, 16u, 300u}) {
    for (size_t at = 0; at < n; ++at) {
      std::vector<float> row(n, 1.0f);
      RowSelect select;
      for (const float bad : {std::nanf(""), -std::nanf(""), kInf}) {
        row[at] = bad;
        CHECK_FALSE(select.scan(row));
      }
      for (const float fine :
           {-kInf, std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest()}) {
        row[at] = fine;
        CHECK(select.scan(row));
      }
    }
  }
}

TEST_CASE("row_select: maxima that were told make the same blocks as a scan, and no scan is made") {
  std::mt19937 rng(4);
  for (const size_t n : {1u, 15u, 16u, 17u, 255u, 256u, 257u, 4095u, 5001u}) {
    auto row = random_logits(rng, n, 3);
    for (size_t i = 0; i < n; i += 3) row[i] = -kInf;
    RowSelect scanned, told;
    CHECK(scanned.scan(row));
    CHECK(told.scan(row, maxima_of(row)));
    REQUIRE(scanned.block_maxima().size() == told.block_maxima().size());
    for (size_t b = 0; b < told.block_maxima().size(); ++b)
      CHECK(scanned.block_maxima()[b] == told.block_maxima()[b]);
    for (const size_t at : {size_t{0}, n / 2, n - 1}) {
      for (const float bad : {std::nanf(""), -std::nanf(""), kInf}) {
        auto broken = row;
        broken[at] = bad;
        CHECK_FALSE(told.scan(broken, maxima_of(broken)));
        CHECK(told.scan(broken, maxima_of(row)));  // the maxima alone are looked at
      }
    }
  }
}

TEST_CASE("row_select: max_or_infinity is the maximum, or +inf, at any length and place") {
  std::mt19937 rng(6);
  for (size_t n = 1; n <= 70; ++n) {
    std::vector<float> x(n, -kInf);
    CHECK(max_or_infinity(x.data(), n) == -kInf);
    for (size_t at = 0; at < n; ++at) {
      x = random_logits(rng, n, 2);
      CHECK(max_or_infinity(x.data(), n) == *std::max_element(x.begin(), x.end()));
      for (const float bad : {std::nanf(""), -std::nanf(""), kInf}) {
        x[at] = bad;
        CHECK(max_or_infinity(x.data(), n) == kInf);
      }
    }
  }
}

TEST_CASE("row_select: within keeps what a difference of floats keeps, ascending ids, never -inf") {
  std::mt19937 rng(5);
  for (const size_t n : {1u, 16u, 257u, 5000u}) {
    for (const float difference : {0.0f, -0.5f, -3.0f, -1000.0f, -kInf}) {
      for (const float scale : {1.0f, 1e37f}) {
        auto row = random_logits(rng, n, 1);
        for (float& l : row) l *= scale;
        for (size_t i = 1; i < n; i += 2) row[i] = -kInf;
        RowSelect select;
        REQUIRE(select.scan(row));
        std::vector<Candidate> got;
        select.within(row, difference, got);
        std::vector<Token> want;
        for (size_t i = 0; i < n; ++i) {
          if (row[i] > -kInf && !(row[i] - select.max() < difference))
            want.push_back(static_cast<Token>(i));
        }
        REQUIRE(got.size() == want.size());
        for (size_t i = 0; i < want.size(); ++i) {
          CHECK(got[i].id == want[i]);
          CHECK(got[i].logit == row[static_cast<size_t>(want[i])]);
        }
      }
    }
  }
}

TEST_CASE(
    "row_select: argmax is the lowest id of the largest logit, across blocks, and follows a "
    "rescan") {
  std::vector<float> row(3000, -2.0f);
  row[2900] = row[700] = row[701] = 5.0f;
  RowSelect select;
  select.scan(row);
  CHECK(select.argmax(row) == 700);
  row[700] = row[701] = -kInf;
  const LogitEdit changed[] = {{700}, {701}};
  select.rescan(row, changed);
  CHECK(select.argmax(row) == 2900);
  CHECK(select.max() == 5.0f);
}
