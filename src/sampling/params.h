// What SamplingParams may hold.
#pragma once

#include <limits>

#include "sampling/step.h"

namespace llmrt {

inline constexpr float kMostTemperature = 100;
// Below this a temperature is subnormal, which compute phases flush to zero: it is 0 to every step.
inline constexpr float kLeastTemperature = std::numeric_limits<float>::min();
inline bool is_greedy(float temperature) { return temperature < kLeastTemperature; }

// invalid_argument: names the option, its value and what is allowed.
Status validate(const SamplingParams& params, uint32_t n_vocab);

}  // namespace llmrt
