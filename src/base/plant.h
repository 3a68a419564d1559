// Planted faults: LLMRT_PLANT(name, right, wrong) is `right`. Only the fault-finding test programs are compiled with LLMRT_PLANTS; there
// the fault chosen at run time becomes real, and the random tests must find it: tests/engine/planted_faults_main.cpp those of kv and
// engine, tests/cpu/planted_linear_main.cpp the numeric one.
#pragma once

#ifdef LLMRT_PLANTS
namespace llmrt::plant {
enum Fault {
  none,
  truncate_one_more,       // truncate keeps a table entry too many
  no_copy_on_write,        // a shared tail block is written in place
  window_one_short,        // a block slides out one position too early
  stale_table_row,         // after a copy the table of the last group still names the old block
  freed_too_early,         // a cancelled request's blocks go back while its pass is open
  match_one_token_short,   // the prefix tree does not compare the last token of a block
  fork_unshared_tail,      // a fork takes no reference on the tail block
  preempt_loses_token,     // a preempted request forgets its newest token
  evict_in_use,            // eviction does not look at references
  chunk_repeats_row,       // the second and later chunks of a prompt start one token early
  dropped_pass_committed,  // rows of a dropped pass count as computed
  match_ignores_window,    // a hit looks at the full groups only
  wrong_write_slot,        // the backend is told a slot of the neighbouring position
  fork_same_seed,          // all samples of a request draw with the first one's seed
  count,                   // of those above, which schedules of kv or engine must find
  wrong_stripe_edge,       // numeric: the 8 stripes of K are cut at edges rounded up
};
extern Fault active;
}  // namespace llmrt::plant
#define LLMRT_PLANT(name, right, wrong) \
  (::llmrt::plant::active == ::llmrt::plant::name ? (wrong) : (right))
#else
#define LLMRT_PLANT(name, right, wrong) (right)
#endif
