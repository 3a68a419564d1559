// StepPlan: what PLAN hands to the other verbs. Plain data.
//
//   sum of count over runs <= row budget      one run per sequence      sequences after admission <= max_running
//   wanted rows over runs  <= max_out         new blocks over runs <= free + evictable blocks
#pragma once

#include <cstdint>
#include <vector>

#include "graph/make_batch.h"

namespace llmrt {

inline constexpr uint32_t kNoSequence = UINT32_MAX;

struct PlanRun {
  uint32_t index = 0;  // into PlanView::running, or PlanView::waiting if admit
  bool admit = false;
  uint32_t first = 0, count = 0;  // positions first .. first + count - 1
  RowWant want = RowWant::none;
};

struct StepPlan {
  std::vector<PlanRun> runs;
  uint32_t n_rows = 0;
  // Memory is short for the first in rank: this running sequence (index into running) must go; then plan again.
  uint32_t victim = kNoSequence;
  // Nobody else could go, and it is short even so (the device has no bytes): into running / into waiting.
  uint32_t stuck = kNoSequence, stuck_waiting = kNoSequence;
  std::vector<uint8_t> served;  // scratch of make_plan
};

}  // namespace llmrt
