// Sums of what engines counted, over many schedules.
#pragma once

#include "engine/engine.h"

namespace llmrt::test {

inline void add_counters(EngineCounters& sum, const EngineCounters& c) {
  sum.preemption += c.preemption;
  sum.eviction += c.eviction;
  sum.fork += c.fork;
  sum.copy_on_write += c.copy_on_write;
  sum.window_slide += c.window_slide;
  sum.chunk_border += c.chunk_border;
  sum.cancel_prefill += c.cancel_prefill;
  sum.cancel_decode += c.cancel_decode;
  sum.cancel_suspended += c.cancel_suspended;
  sum.failed_reserve += c.failed_reserve;
  sum.budget_stop += c.budget_stop;
  sum.prefix_hit += c.prefix_hit;
}

}  // namespace llmrt::test
