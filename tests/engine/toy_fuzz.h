// Random schedules of an engine on the ToyModel. Each request's tokens must be those of the request alone, whatever ran beside it, in
// whatever pieces, with whatever memory; every equation holds after every step; everyone finishes.
#pragma once

#include <cstdint>
#include <string>

#include "engine/engine.h"

namespace llmrt::test {

struct FuzzTotals {
  EngineCounters events;
  int64_t schedules = 0, steps = 0, requests = 0, tokens = 0, finished = 0, cancelled = 0,
          out_of_memory = 0, device_errors = 0, evaluations = 0, trims = 0, pauses = 0;
};

// Empty: all well. Otherwise what was wrong, with the seed. plant_wrong_slot: the backend writes one row to a wrong slot.
std::string run_toy_schedule(uint64_t seed, FuzzTotals& totals, bool plant_wrong_slot = false);

std::string summary(const FuzzTotals& totals);
// An event of EngineCounters that never occurred; nullptr: all did. 1000 schedules see the rarest some 200 times.
const char* missing_event(const FuzzTotals& totals);

}  // namespace llmrt::test
