// PLAN: the engine's state as plain data, the scheduler's answer, and what of it is done at once: preemption and giving up.
#include <algorithm>

#include "base/plant.h"
#include "engine/step_engine.h"

namespace llmrt {
namespace {

constexpr uint32_t kMostReplans = 16;  // of one step, after failed commits

}  // namespace

StepOutcome StepEngine::plan_pass(int64_t now) {
  pool_->retry_commit();
  size_t most_admitted = may_admit(now) ? options_.max_running : 0;
  uint32_t n_failed = 0;
  for (;;) {
    build_view(now, most_admitted);
    make_plan(view_, plan_);
    if (plan_.victim != kNoSequence) {
      preempt(*running_[plan_.victim]);
      most_admitted = 0;  // what it gave back is for the one it went for
      continue;
    }
    if (plan_.stuck != kNoSequence || plan_.stuck_waiting != kNoSequence) {
      Sequence& stuck =
          plan_.stuck != kNoSequence ? *running_[plan_.stuck] : *waiting_[plan_.stuck_waiting];
      if (++stuck.stuck_steps < kMemoryTries) return StepOutcome::blocked;
      end_stuck(stuck);
      continue;
    }
    if (plan_.runs.empty())
      return running_.empty() && waiting_.empty() ? StepOutcome::idle : StepOutcome::blocked;
    pass_.runs = plan_.runs;
    pass_.sequences.clear();
    for (const PlanRun& run : plan_.runs)
      pass_.sequences.push_back(run.admit ? waiting_[run.index] : running_[run.index]);
    if (Sequence* without = take_memory_of_admitted()) {
      pass_.sequences.clear();
      most_admitted = static_cast<size_t>(std::find(waiting_.begin(), waiting_.end(), without) -
                                          waiting_.begin());
      if (most_admitted > 0 || !running_.empty()) continue;
      if (++without->stuck_steps < kMemoryTries) return StepOutcome::blocked;
      end_without_memory(*without,
                         without->request->evaluation ? "the block tables" : "the answer");
      sweep_ended();
      most_admitted = options_.max_running;
      continue;
    }
    admit_planned(now);
    Sequence* failed = nullptr;
    Status status = reserve(failed);
    if (status.ok()) {
      begin_pass();
      return StepOutcome::worked;
    }
    ++counters_.failed_reserve;
    pass_.sequences.clear();
    if (failed->request->ended()) {
      sweep_ended();
      continue;
    }
    if (status.code() == Code::out_of_memory && pool_->commit_failed() &&
        ++n_failed <= kMostReplans)
      continue;  // the pool knows now what it can give: a smaller plan
    if (status.code() == Code::out_of_memory) return StepOutcome::blocked;
    failed->request->end(Finish::error, std::move(status));
    sweep_ended();
  }
}

void StepEngine::build_view(int64_t now, size_t most_admitted) {
  running_views_.clear();
  waiting_views_.clear();
  hits_.clear();
  for (const Sequence* sequence : running_) running_views_.push_back(view_of(*sequence, now));
  const size_t n_slots = std::min(options_.max_running - running_.size(), most_admitted);
  for (size_t i = 0; i < std::min(n_slots, waiting_.size()); ++i) {
    const Sequence& sequence = *waiting_[i];
    SequenceView view = view_of(sequence, now);
    uint32_t most = view.n_tokens - 1;  // one row at least must run
    if (sequence.request->evaluation) most = std::min(most, sequence.request->evaluation->first);
    // Again in every step that finds a place but no memory for it, about 12 us for 8,000 tokens: blocks may have come and gone since.
    PrefixHit hit;
    if (options_.prefix_cache) hit = cache_->match(name_space_, sequence.tokens, most);
    view.computed = hit.n_tokens;
    view.n_entries = hit.n_tokens / layout_.block_tokens;
    view.n_held = hit.n_held;
    waiting_views_.push_back(view);
    hits_.push_back(hit);
  }
  view_.layout = &layout_;
  view_.running = running_views_;
  view_.waiting = waiting_views_;
  view_.free_blocks = pool_->n_usable() + pool_->n_idle();
  view_.max_rows = options_.max_batch;
  view_.max_prompt_rows_mixed = times_.prompt_rows_beside_decodes();
  view_.prefill_chunk = options_.prefill_chunk;
  view_.max_running = options_.max_running;
  view_.max_out = runner_->options().max_out;
  view_.admit = most_admitted > 0;
}

SequenceView StepEngine::view_of(const Sequence& sequence, int64_t now) const {
  SequenceView view;
  view.order = sequence.order;
  view.n_tokens = static_cast<uint32_t>(sequence.tokens.size());
  view.computed = sequence.kv.computed();
  view.n_entries = sequence.kv.n_entries();
  view.tail_copies = sequence.kv.shared_tail_blocks(*pool_);
  view.n_held = sequence.kv.n_blocks();
  view.left = lengths_.expected_left(
      sequence.n_generated(), sequence.n_max - std::min(sequence.n_max, sequence.n_generated()));
  if (sequence.request->evaluation) view.want_from = sequence.request->evaluation->first;
  const int64_t waited = now - sequence.request->submitted_ns;
  const double row_ns = times_.prompt_row_ns();
  view.wait_rows =
      row_ns > 0 && waited > 0 ? static_cast<uint64_t>(static_cast<double>(waited) / row_ns) : 0;
  return view;
}

// Continuous: always. Static and dynamic batches are baselines: a batch takes requests until its first token, then none until it is done.
bool StepEngine::may_admit(int64_t now) {
  dynamic_due_ns_ = INT64_MAX;
  if (options_.batching == Batching::continuous || waiting_.empty()) return true;
  if (!running_.empty())
    return std::none_of(running_.begin(), running_.end(),
                        [](const Sequence* s) { return s->n_generated() > 0; });
  if (options_.batching == Batching::static_batch || waiting_.size() >= options_.max_running)
    return true;
  int64_t oldest = INT64_MAX;
  for (const Sequence* sequence : waiting_)
    oldest = std::min(oldest, sequence->request->submitted_ns);
  const int64_t due = oldest + int64_t{options_.batch_wait_us} * 1000;
  if (now >= due) return true;
  dynamic_due_ns_ = due;
  return false;
}

void StepEngine::preempt(Sequence& sequence) {
  ++counters_.preemption;
  if (options_.prefix_cache && !sequence.request->evaluation)
    cache_->publish(sequence.kv, sequence.tokens, sequence.vouched);
  cache_->release(sequence.kv);
  sequence.vouched = 0;
  if (LLMRT_PLANT(preempt_loses_token, false, sequence.n_generated() > 0))
    sequence.tokens.pop_back();
  std::erase(running_, &sequence);
  sequence.move_to(SeqState::preempted);
  insert_by_rank(waiting_, sequence);
}

void StepEngine::end_stuck(Sequence& sequence) {
  sequence.request->end(
      Finish::error,
      error(Code::out_of_memory,
            "no memory for another KV block: %u of %u blocks are in use by this request, "
            "the rest cannot be had",
            sequence.kv.n_blocks(), layout_.capacity()));
  sweep_ended();
}

}  // namespace llmrt
