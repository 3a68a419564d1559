// StepEngine: the five verbs over all requests of one engine. Everything here is touched by the owner only (EngineShared::owner).
//
//   step(): drain inbox, sweep what ended  ->  PLAN -> RESERVE -> RUN (may suspend) -> CHOOSE -> COMMIT
//             step_engine.cpp                 verb_plan.cpp ... verb_commit.cpp, one file per verb
//
// A pass stays open while RUN is suspended. Nothing of it is visible before COMMIT:
//   sequences in an open pass keep their blocks, whoever ends them; they give them back when it closes (committed, failed or dropped)
//   tokens and block tables of such sequences do not change
//
// Faults: a request's own (NaN logits, bad sampling options, a callback that ends it) end that request; a failed pass ends the requests
// in it. The engine goes on in both cases.
// Memory that cannot be had. Nobody waits for it for ever, and a request ends for nobody else's:
//   a KV block          the plan gets smaller, down to the first in rank; that one ends after kMemoryTries steps
//   an admission's      the request waits, and those behind it, while others run; then it ends after kMemoryTries steps
//   a pass's own        the pass is dropped and made again; after kMemoryTries steps its last in rank ends
//   a request's own beyond (a place in the lists, tables and text that grow, a draw)   it ends at once
//   nodes of the prefix tree   are done without
// COMMIT takes no memory but a request's own, so nothing is half done.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/pass_times.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/shared.h"
#include "engine/stats.h"
#include "kv/kv_check.h"
#include "runtime/runner.h"

namespace llmrt {

// Steps in a row without memory for a KV block or a pass, until a request ends for it.
inline constexpr uint32_t kMemoryTries = 8;

enum class StepOutcome {
  idle,       // nothing to run
  blocked,    // requests wait, for time (dynamic batching) or memory
  worked,     // a pass ended, or something changed: look again
  suspended,  // the pass stopped at the deadline
};

class StepEngine {
 public:
  // options: resolved. The model outlives this.
  static Result<std::unique_ptr<StepEngine>> create(const LoadedModel& model,
                                                    const EngineOptions& options,
                                                    const KvLayout& layout,
                                                    std::shared_ptr<EngineShared> shared);
  ~StepEngine();

  // compute: false only looks after inbox, timeouts and ended requests (a paused engine).
  StepOutcome step(Deadline deadline, bool compute);
  // Earliest time something is due without new input; INT64_MAX: never.
  int64_t next_timer(int64_t now) const;
  bool has_work() const { return !sequences_.empty(); }
  void end_all();  // cancels the requests the engine has, inbox included
  Status validate() const;

  const KvLayout& layout() const { return layout_; }
  Stats& stats() { return stats_; }
  EngineCounters counters() const;  // any thread: as of the last step

 private:
  struct Choice {
    Sequence* sequence = nullptr;
    Pick pick;
  };
  struct Pass {
    bool open = false;
    std::vector<Sequence*> sequences;  // [runs]
    std::vector<PlanRun> runs;
    int64_t busy_ns = 0;
    uint32_t n_rows = 0, n_decodes = 0;
    bool suspended_once = false;
  };

  StepEngine(const LoadedModel& model, const EngineOptions& options, const KvLayout& layout,
             std::shared_ptr<EngineShared> shared)
      : model_(model), options_(options), layout_(layout), shared_(std::move(shared)) {}

  // step_engine.cpp
  void reserve_lists(uint32_t max_out);
  StepOutcome step_or_throw(Deadline deadline, bool compute);
  void drain_inbox();
  bool take_in(
      Submission& submission);  // false: no memory for its place in the lists, it has ended
  void sweep(int64_t now);      // timeouts, then what ended
  void sweep_ended();
  void let_go(RequestImpl& request);  // it has ended and has no sequences
  void forget_live();
  void log_end(const RequestImpl& request) const;
  // Of a request whose next token found no memory for `thing`.
  void end_without_memory(const Sequence& sequence, const char* thing);
  void drop_pass_of_ended();
  void retire(Sequence& sequence);  // blocks back, off the lists; never allocates
  void forget_done();
  StepOutcome drop_pass_without_memory(Status status);
  void close_pass();
  void trim_if_asked();
  void publish_gauges();

  // engine_check.cpp
  Status validate_sequence(const Sequence& sequence) const;
  Status validate_lists() const;
  Status validate_pass() const;
  void assert_valid() const;

  // PLAN
  StepOutcome plan_pass(int64_t now);
  void build_view(int64_t now, size_t most_admitted);
  SequenceView view_of(const Sequence& sequence, int64_t now) const;
  bool may_admit(int64_t now);
  void preempt(Sequence& sequence);
  void end_stuck(Sequence& sequence);
  // RESERVE
  void admit_planned(int64_t now);
  bool take_memory(Sequence& sequence);
  Sequence*
  take_memory_of_admitted();  // of the pass; the first in rank that found none, or nullptr
  Status reserve(Sequence*& failed);
  void make_room(uint32_t n_blocks);
  // RUN
  void begin_pass();
  Result<Progress> run(Deadline deadline);
  // CHOOSE
  void choose();
  // maxima: of the logits' blocks (graph/logit_blocks.h), or empty
  void choose_for(Sequence& sequence, std::span<const float> logits, std::span<const float> maxima);
  void choose_or_throw(Sequence& sequence, std::span<const float> logits,
                       std::span<const float> maxima);
  // COMMIT
  void commit();
  void commit_run(uint32_t i, int64_t now);
  void commit_evaluation(Sequence& sequence, const PlanRun& run, uint32_t first_out);
  void fork_followers(Sequence& leader);
  void accept(Sequence& sequence, const Pick& pick, int64_t now);
  void accept_or_throw(Sequence& sequence, const Pick& pick, int64_t now);
  void finish_sequence(Sequence& sequence, Finish finish);

  const LoadedModel& model_;
  const EngineOptions options_;
  const KvLayout layout_;
  const std::shared_ptr<EngineShared> shared_;
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<BackendKvStore> store_;
  std::unique_ptr<BlockPool> pool_;
  std::unique_ptr<PrefixCache> cache_;
  std::string name_space_;

  std::vector<std::unique_ptr<Sequence>> sequences_;  // all that live
  std::vector<Sequence*> running_, waiting_;          // rank order; waiting_: queued and preempted
  Pass pass_;
  PlanView view_;
  StepPlan plan_;
  std::vector<SequenceView> running_views_, waiting_views_;
  std::vector<PrefixHit> hits_;  // [waiting_views_]
  std::vector<RowRun> row_runs_;
  std::vector<Choice> choices_;
  std::vector<float> hook_logits_;
  std::vector<Submission> incoming_;  // of drain_inbox(); empty outside
  // those whose end is still to come, or whose sequences live
  std::vector<std::shared_ptr<RequestImpl>> requests_;
  std::string text_scratch_, piece_scratch_;

  LengthModel lengths_;
  PassTimes times_;
  uint32_t n_passes_without_memory_ = 0;  // in a row
  int64_t dynamic_due_ns_ = INT64_MAX;
  Stats stats_;
  EngineCounters counters_;
  EngineCounters published_counters_;  // guarded by stats_.mutex
};

}  // namespace llmrt
