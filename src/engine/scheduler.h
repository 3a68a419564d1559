// Scheduler: PLAN as a pure function of plain data. No pointers into KV, no clock, no state.
//
// Policy:
//   Rank      a sequence's key = submit time - priority * ageing; lower goes first. Waiting t ageing units is worth t priorities, so
//             the order of two sequences never changes and everyone is first at last.
//   First     the first in rank among the running is served first and may take memory from the last in rank (preemption). Its worst
//             case fits an empty pool (checked at submit), so it always finishes: that is the progress argument.
//   Decodes   every running sequence with one new token gets a row, in rank order. One that finds no block waits a step.
//   Admission in rank order, never past one that does not fit: its blocks, and what the running are expected to need yet, must fit.
//   Prefill   shares the rest of the row budget: the first in rank gets half, the others by response ratio (wait + work) / work.
#pragma once

#include <cstdint>
#include <span>

#include "engine/step_plan.h"
#include "kv/kv_layout.h"

namespace llmrt {

struct SequenceView {
  uint64_t order = 0;        // of submit, breaks ties of the response ratio; the rank is the list's
  uint32_t n_tokens = 0;     // known tokens
  uint32_t computed = 0;     // waiting: length of its prefix hit
  uint32_t n_entries = 0;    // table entries per group
  uint32_t tail_copies = 0;  // blocks the next write must copy first
  uint32_t n_held = 0;       // blocks. running: held. waiting: of its hit, held by others already
  uint32_t left = 0;         // tokens it is expected to add yet
  // Evaluation: rows from this position on want logits. Otherwise the last row does.
  uint32_t want_from = UINT32_MAX;
  uint64_t wait_rows = 0;  // how long it has waited, in rows the engine computes in that time
};

struct PlanView {
  const KvLayout* layout = nullptr;
  std::span<const SequenceView> running, waiting;  // each in rank order
  uint32_t free_blocks = 0;                        // free and evictable
  uint32_t max_rows = 512;                         // nothing decodes
  uint32_t max_prompt_rows_mixed = 32;             // of prompts, where something decodes
  uint32_t prefill_chunk = 0;                      // most rows of one sequence, 0: no limit
  uint32_t max_running = 16;
  uint32_t max_out = 64;
  bool admit = true;
};

void make_plan(const PlanView& view, StepPlan& plan);  // plan's memory is reused

}  // namespace llmrt
