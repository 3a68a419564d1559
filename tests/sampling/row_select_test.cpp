#include "sampling/row_select.h"

#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

void check_best(const std::vector<float>& row, uint32_t k) {
  RowSelect select;
  REQUIRE(select.scan(row));
  std::vector<Candidate> best;
  select.best(row, k, best);
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
