// What SamplingParams may hold.
#pragma once

#include "sampling/step.h"

namespace llmrt {

inline constexpr float kMostTemperature = 100;

// invalid_argument: names the option, its value and what is allowed.
Status validate(const SamplingParams& params, uint32_t n_vocab);

}  // namespace llmrt
