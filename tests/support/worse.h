// The larger of two errors. A NaN is worse than any and stays: std::max would drop it.
#pragma once

#include <cmath>

namespace llmrt::test {

inline double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

}  // namespace llmrt::test
