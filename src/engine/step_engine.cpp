#include "engine/step_engine.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/plant.h"
#include "engine/delivery.h"
#include "runtime/plan.h"

namespace llmrt {
namespace {

constexpr size_t kScratchBytes = 2048;  // the longest stop string and a long token's text

template <class T>
void grow_by(std::vector<T>& list, size_t n_more) {
  const size_t n = list.size() + n_more;
  if (n > list.capacity()) list.reserve(std::max(n, 2 * list.capacity()));
}

}  // namespace

Result<std::unique_ptr<StepEngine>> StepEngine::create(const LoadedModel& model,
                                                       const EngineOptions& options,
                                                       const KvLayout& layout,
                                                       std::shared_ptr<EngineShared> shared) {
  std::unique_ptr<StepEngine> engine(new StepEngine(model, options, layout, std::move(shared)));
  RunnerOptions runner;
  runner.kv.codec = options.kv;
  runner.kv.block_tokens = options.block_tokens;
  runner.kv.n_blocks = layout.n_blocks;
  runner.max_rows = options.max_batch;
  runner.max_seqs = options.max_running;
  runner.max_out = max_out_rows(options.max_running);
  runner.max_positions = options.ctx_tokens;
  runner.raw_weights = model.raw_weights;
  LLMRT_ASSIGN(engine->runner_,
               Runner::create(*model.backend, model.def.program, model.weights, runner));
  engine->store_ = std::make_unique<BackendKvStore>(*model.backend, engine->runner_->kv());
  LLMRT_ASSIGN(BlockPool pool, BlockPool::create(layout, *engine->store_));
  engine->pool_ = std::make_unique<BlockPool>(std::move(pool));
  engine->cache_ = std::make_unique<PrefixCache>(*engine->pool_);
  engine->name_space_ = options.cache_namespace;
  engine->reserve_lists(runner.max_out);
  engine->stats_.started_ns = now_ns();
  engine->stats_.totals.compute_bytes = static_cast<int64_t>(engine->runner_->compute_bytes());
  engine->publish_gauges();
  return engine;
}

// Of what one pass can name, and lists of all that lives for as many as run and as many that wait: take_in() makes them longer.
void StepEngine::reserve_lists(uint32_t max_out) {
  const size_t n = options_.max_running;
  running_.reserve(n);
  waiting_.reserve(2 * n);
  sequences_.reserve(2 * n);
  requests_.reserve(2 * n);
  for (auto* list : {&running_views_, &waiting_views_}) list->reserve(n);
  hits_.reserve(n);
  for (auto* runs : {&plan_.runs, &pass_.runs}) runs->reserve(n);
  plan_.served.reserve(n);
  pass_.sequences.reserve(n);
  row_runs_.reserve(n);
  choices_.reserve(max_out);
  for (std::string* text : {&text_scratch_, &piece_scratch_}) text->reserve(kScratchBytes);
}

StepEngine::~StepEngine() {
  if (!cache_) return;  // create() failed half way
  runner_->abandon();
  for (auto& sequence : sequences_) cache_->release(sequence->kv);
}

StepOutcome StepEngine::step(Deadline deadline, bool compute) {
  StepOutcome outcome = StepOutcome::blocked;
  try {
    outcome = step_or_throw(deadline, compute);
  } catch (const std::bad_alloc&) {
    outcome = drop_pass_without_memory(
        error(Code::out_of_memory, "no memory for a pass of %u rows", plan_.n_rows));
  }
  publish_gauges();
  return outcome;
}

StepOutcome StepEngine::step_or_throw(Deadline deadline, bool compute) {
  const int64_t now = now_ns();
  shared_->heartbeat.fetch_add(1, std::memory_order_relaxed);
  drain_inbox();
  sweep(now);
  if (pass_.open) drop_pass_of_ended();
  trim_if_asked();
  if (!compute) {
    forget_done();
    return has_work() ? StepOutcome::blocked : StepOutcome::idle;
  }
  if (!pass_.open) {
    const StepOutcome outcome = plan_pass(now);
    if (!pass_.open) {
      forget_done();
      return outcome;
    }
  }
  Result<Progress> progress = run(deadline);
  if (progress.ok() && *progress == Progress::suspended) {
    pass_.suspended_once = true;
    ++counters_.budget_stop;
    return StepOutcome::suspended;
  }
  if (progress.ok()) {
    n_passes_without_memory_ = 0;
    choose();
    commit();
  } else if (progress.status().code() == Code::out_of_memory) {
    return drop_pass_without_memory(std::move(progress).status());
  } else {
    for (Sequence* sequence : pass_.sequences)
      sequence->request->end(Finish::error, progress.status());
  }
  close_pass();
  sweep_ended();
  forget_done();
  if constexpr (kExpensiveChecks) assert_valid();
  return StepOutcome::worked;
}

void StepEngine::drain_inbox() {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->inbox.empty()) return;
    incoming_.swap(shared_->inbox);
    shared_->n_waiting += static_cast<uint32_t>(incoming_.size());
  }
  bool all_in = true;
  for (Submission& submission : incoming_) all_in = take_in(submission) && all_in;
  incoming_.clear();
  if (!all_in) forget_live();
}

bool StepEngine::take_in(Submission& submission) {
  RequestImpl& request = *submission.request;
  const size_t n = submission.sequences.size();
  try {
    grow_by(sequences_, n);
    grow_by(waiting_, sequences_.size() + n - waiting_.size());  // any that lives may have to wait
    grow_by(requests_, 1);
  } catch (const std::bad_alloc&) {
    request.end(Finish::error,
                error(Code::out_of_memory, "no memory for a place among %zu sequences",
                      sequences_.size() + n));
    let_go(request);
    return false;
  }
  // nothing below allocates
  request.n_sequences = static_cast<uint32_t>(n);
  for (auto& sequence : submission.sequences) {
    if (sequence->state == SeqState::queued) insert_by_rank(waiting_, *sequence);
    sequences_.push_back(std::move(sequence));
  }
  requests_.push_back(std::move(submission.request));
  return true;
}

void StepEngine::sweep(int64_t now) {
  for (const auto& request : requests_) request->check_timeouts(now);
  sweep_ended();
}

void StepEngine::sweep_ended() {
  for (const auto& sequence : sequences_) {
    if (!sequence->alive() || !sequence->request->ended()) continue;
    if (!sequence->end_counted) {
      sequence->end_counted = true;
      if (sequence->state == SeqState::running &&
          sequence->request->finish(sequence->sample) == Finish::cancelled) {
        if (sequence->in_pass && pass_.suspended_once) ++counters_.cancel_suspended;
        ++(sequence->n_generated() == 0 ? counters_.cancel_prefill : counters_.cancel_decode);
      }
    }
    if (!sequence->in_pass || LLMRT_PLANT(freed_too_early, false, true)) retire(*sequence);
  }
  const auto gone = [&](const std::shared_ptr<RequestImpl>& request) {
    if (!request->ended() || request->n_sequences > 0) return false;
    let_go(*request);
    return true;
  };
  if (std::erase_if(requests_, gone) > 0) forget_live();
}

void StepEngine::let_go(RequestImpl& request) {
  if (!request.evaluation) {
    const std::lock_guard lock(stats_.mutex);
    const int64_t now = now_ns();
    stats_.e2e.record(now, now - request.submitted_ns);
    stats_.requests.add(now, 1);
  }
  log_end(request);
  request.chain.reset();  // it has rows of the vocabulary, and hosts may keep the request for long
}

void StepEngine::forget_live() {
  {
    const std::lock_guard lock(shared_->mutex);
    std::erase_if(shared_->live, [](const auto& request) {
      return request->ended() && request->n_sequences == 0;
    });
  }
  shared_->changed.notify_all();
}

void StepEngine::end_without_memory(const Sequence& sequence, const char* thing) {
  sequence.request->end(
      Finish::error,
      error(Code::out_of_memory, "no memory for %s of sample %d, which has %u of at most %u tokens",
            thing, sequence.sample, sequence.n_generated(), sequence.n_max));
}

void StepEngine::log_end(const RequestImpl& request) const {
  if (request.evaluation || !model_.host->logs(LogLevel::debug)) return;
  try {
    const Usage usage = request.usage();
    const std::string why(request.error().message());
    model_.host->log(LogLevel::debug,
                     "request ended: %s%s%s; %d prompt tokens (%d cached), %d new ones, %.1f ms",
                     name_of(request.finish(0)), why.empty() ? "" : ", ", why.c_str(),
                     usage.prompt_tokens, usage.cached_tokens, usage.generated_tokens,
                     static_cast<double>(now_ns() - request.submitted_ns) * 1e-6);
  } catch (const std::bad_alloc&) {  // a log line is not worth a failure
  }
}

void StepEngine::drop_pass_of_ended() {
  for (const Sequence* sequence : pass_.sequences) {
    if (!sequence->request->ended()) return;
  }
  runner_->abandon();
#ifdef LLMRT_PLANTS
  if (plant::active == plant::dropped_pass_committed) {
    for (size_t i = 0; i < pass_.runs.size(); ++i) {
      Sequence& s = *pass_.sequences[i];
      s.kv.commit(pass_.runs[i].first + pass_.runs[i].count);
      cache_->publish(s.kv, s.tokens, s.kv.computed());
    }
  }
#endif
  close_pass();
  sweep_ended();
}

void StepEngine::close_pass() {
  for (Sequence* sequence : pass_.sequences) sequence->in_pass = false;
  pass_.sequences.clear();
  pass_.runs.clear();
  pass_.open = pass_.suspended_once = false;
}

void StepEngine::retire(Sequence& sequence) {
  cache_->release(sequence.kv);
  std::erase(running_, &sequence);
  std::erase(waiting_, &sequence);
  sequence.in_pass = false;
  sequence.move_to(SeqState::done);
  --sequence.request->n_sequences;
}

void StepEngine::forget_done() {
  // a pass names its sequences; those of ended requests stay until it closes
  if (!pass_.open)
    std::erase_if(sequences_, [](const auto& sequence) { return !sequence->alive(); });
}

void StepEngine::end_all() {
  drain_inbox();
  for (const auto& request : requests_) request->cancel(false);
  if (pass_.open) {
    runner_->abandon();
    close_pass();
  }
  sweep_ended();
  forget_done();
}

// Nothing of it was visible: the sequences keep their blocks, and their rows are computed again.
StepOutcome StepEngine::drop_pass_without_memory(Status status) {
  runner_->abandon();
  if (++n_passes_without_memory_ >= kMemoryTries && !pass_.sequences.empty()) {
    const auto last =
        std::max_element(pass_.sequences.begin(), pass_.sequences.end(),
                         [](const Sequence* a, const Sequence* b) { return goes_first(*a, *b); });
    (*last)->request->end(Finish::error, std::move(status));
  }
  close_pass();
  sweep_ended();
  forget_done();
  return StepOutcome::blocked;
}

// Between passes, except that level 3 of a paused engine does not wait for a pass nobody works on: it is dropped and its rows are
// computed again.
void StepEngine::trim_if_asked() {
  int32_t level = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    const bool all = shared_->trim_level >= 3 && shared_->paused;
    if (pass_.open && !all) return;
    std::swap(level, shared_->trim_level);
    if (level <= 0) return;
    if (!all) level = std::min(level, 2);  // what runs keeps its KV: nothing more than 2 can be had
  }
  if (pass_.open) {
    runner_->abandon();
    close_pass();
    sweep_ended();
  }
  if (level >= 3) {
    while (!running_.empty()) preempt(*running_.back());
  }
  if (level >= 2) {
    cache_->clear();
    cache_->trim();
  }
  pool_->trim();
}

int64_t StepEngine::next_timer(int64_t now) const {
  int64_t at = dynamic_due_ns_;
  for (const auto& request : requests_) {
    if (!request->ended()) at = std::min(at, request->next_timeout());
  }
  return std::max(at, now);
}

EngineCounters StepEngine::counters() const {
  const std::lock_guard lock(stats_.mutex);
  return published_counters_;
}

void StepEngine::publish_gauges() {
  uint64_t used_rows = 0, held_rows = 0;
  for (const Sequence* sequence : running_) {
    used_rows += sequence->kv.computed();
    held_rows += uint64_t{sequence->kv.n_entries()} * layout_.block_tokens;
  }
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->n_waiting = static_cast<uint32_t>(
        std::count_if(waiting_.begin(), waiting_.end(),
                      [](const Sequence* s) { return s->sample == 0 && !s->was_admitted; }));
  }
  const std::lock_guard lock(stats_.mutex);
  EngineMetrics& m = stats_.totals;
  m.running = static_cast<int32_t>(running_.size());
  m.waiting = static_cast<int32_t>(waiting_.size());
  m.kv_used = static_cast<int64_t>(pool_->n_held() * layout_.block_bytes);
  m.kv_total = static_cast<int64_t>(layout_.capacity() * layout_.block_bytes);
  m.device_bytes = model_.weight_bytes + model_.backend->kv_bytes(runner_->kv());
  m.kv_waste =
      held_rows > 0 ? 1.0 - static_cast<double>(used_rows) / static_cast<double>(held_rows) : 0;
  m.preemptions = counters_.preemption;
  published_counters_ = counters_;
  published_counters_.eviction = static_cast<int64_t>(cache_->n_evicted());
}

}  // namespace llmrt
