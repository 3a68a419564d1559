#include "engine/stats.h"

#include <doctest/doctest.h>

using namespace llmrt;

TEST_CASE(
    "stats: percentiles of known values are within a bucket's width and leave after a minute") {
  WindowHistogram histogram;
  const int64_t start = 1000 * kStatsSliceNs;
  for (int64_t ms = 1; ms <= 100; ++ms) histogram.record(start, ms * 1'000'000);
  double p[3];
  histogram.percentiles(start, p);
  CHECK(p[0] == doctest::Approx(50).epsilon(0.125));
  CHECK(p[1] == doctest::Approx(95).epsilon(0.125));
  CHECK(p[2] == doctest::Approx(99).epsilon(0.125));
  histogram.percentiles(start + 59'000'000'000, p);
  CHECK(p[0] > 0);
  histogram.percentiles(start + 60'000'000'000, p);
  CHECK(p[0] == 0);
}

TEST_CASE("stats: window sums and peaks forget what is older than a minute") {
  WindowSum sum;
  const int64_t start = 77 * kStatsSliceNs;
  sum.add(start, 5);
  sum.add(start + 30'000'000'000, 7);
  CHECK(sum.sum(start + 31'000'000'000) == 12);
  CHECK(sum.sum(start + 61'000'000'000) == 7);
  CHECK(sum.sum(start + 300'000'000'000) == 0);
  sum.add(start + 300'000'000'000, 4);
  sum.add(start + 300'000'000'000, 1);
  sum.add(start + 330'000'000'000, 3);
  CHECK(sum.peak(start + 330'000'000'000) == 4);
  CHECK(sum.peak(start + 361'000'000'000) == 3);
  CHECK(sum.peak(start + 500'000'000'000) == 0);
}

TEST_CASE("stats: the expected rest of an answer is the mean of longer ones less what there is") {
  LengthModel lengths;
  CHECK(lengths.expected_left(0, 100) == 60);  // nothing seen: 0.6 of what is allowed
  for (int i = 0; i < 50; ++i) lengths.record(100);
  CHECK(lengths.expected_left(10, 1000) == 90);
  CHECK(lengths.expected_left(10, 20) == 20);
  CHECK(lengths.expected_left(500, 1000) == 600);  // longer than all seen
}
