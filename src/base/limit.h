// Limit: what a number may be, and the one form in which a value is refused: "max_running is 0; allowed: 1 to 1024",
// "kv_budget is -7; allowed: -1 and up", "min_p is 1.5; allowed: 1 and down".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/status.h"

namespace llmrt {

struct Limit {
  const char* name;
  int64_t least, most;  // kNoMost: as large as the type allows
};
inline constexpr int64_t kNoMost = INT64_MAX;

struct RealLimit {
  const char* name;
  double least, most;  // -kNoBound, kNoBound: no bound
};
inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

Status check(const Limit& limit, int64_t value);
Status check(const RealLimit& limit, double value);  // NaN is refused

// What check() says, for what is no range. invalid_argument at name.
Status refuse(std::string_view name, std::string_view found, std::string_view allowed);

// The shortest text that reads back as the same number, so that a refused value differs from the bound it misses.
std::string number_text(double value);

}  // namespace llmrt
