#include "base/limit.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace llmrt;

namespace {

std::string told(const Status& status) {
  CHECK(status.code() == Code::invalid_argument);
  CHECK(status.detail()->where == "x");
  return std::string(status.message());
}

}  // namespace

TEST_CASE("limit: a whole number is refused with its range, the borders are fine") {
  CHECK(check(Limit{"x", -1, 7}, -1).ok());
  CHECK(check(Limit{"x", -1, 7}, 7).ok());
  CHECK(told(check(Limit{"x", -1, 7}, 8)) == "x is 8; allowed: -1 to 7");
  CHECK(told(check(Limit{"x", 0, 1}, -2)) == "x is -2; allowed: 0 and 1");
  CHECK(told(check(Limit{"x", 0, 0}, 1)) == "x is 1; allowed: 0");
  CHECK(told(check(Limit{"x", 0, kNoMost}, INT64_MIN)) ==
        "x is -9223372036854775808; allowed: 0 and up");
  CHECK(check(Limit{"x", 0, kNoMost}, INT64_MAX).ok());
}

TEST_CASE("limit: a real number is refused so that it differs from the bound it misses") {
  CHECK(check(RealLimit{"x", 0, 100}, 100).ok());
  CHECK(told(check(RealLimit{"x", 0, 100}, double{100.00001f})) ==
        "x is 100.00001; allowed: 0 to 100");
  CHECK(told(check(RealLimit{"x", 0, kNoBound}, -0.5)) == "x is -0.5; allowed: 0 and up");
  CHECK(told(check(RealLimit{"x", -kNoBound, 1}, 1.5)) == "x is 1.5; allowed: 1 and down");
  CHECK(told(check(RealLimit{"x", 0, kNoBound}, std::nan(""))) == "x is nan; allowed: 0 and up");
  CHECK(check(RealLimit{"x", 0, kNoBound}, kNoBound).ok());
}

TEST_CASE("limit: what is no range is refused in the same words") {
  CHECK(told(refuse("x", "set without y", "both or neither")) ==
        "x is set without y; allowed: both or neither");
}
