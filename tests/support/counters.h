// The events that engines count, by name, and their sums over many schedules.
#pragma once

#include <cstdint>
#include <iterator>

#include "engine/engine.h"

namespace llmrt::test {

struct EngineEvent {
  const char* name;
  int64_t EngineCounters::*count;
};
inline constexpr EngineEvent kEngineEvents[] = {
    {"preemption", &EngineCounters::preemption},
    {"eviction", &EngineCounters::eviction},
    {"fork", &EngineCounters::fork},
    {"copy_on_write", &EngineCounters::copy_on_write},
    {"window_slide", &EngineCounters::window_slide},
    {"chunk_border", &EngineCounters::chunk_border},
    {"cancel_prefill", &EngineCounters::cancel_prefill},
    {"cancel_decode", &EngineCounters::cancel_decode},
    {"cancel_suspended", &EngineCounters::cancel_suspended},
    {"failed_reserve", &EngineCounters::failed_reserve},
    {"budget_stop", &EngineCounters::budget_stop},
    {"prefix_hit", &EngineCounters::prefix_hit},
};
static_assert(sizeof(EngineCounters) == std::size(kEngineEvents) * sizeof(int64_t));

inline void add_counters(EngineCounters& sum, const EngineCounters& c) {
  for (const EngineEvent& e : kEngineEvents) sum.*e.count += c.*e.count;
}

}  // namespace llmrt::test
