#include "engine/engine_front.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/delivery.h"
#include "kv/plant.h"

namespace llmrt {
namespace {

constexpr int64_t kSliceNs =
    5'000'000;  // a pass is looked up from this often: cancel, pause and close wait no longer
constexpr int64_t kMemoryRetryNs = 5'000'000;  // nothing can run for lack of memory: try again
constexpr int64_t kAgeingNs = 1'000'000'000;  // one second of waiting is worth one step of priority
constexpr int32_t kPriorityLimit =
    60;  // priorities beyond count as this: nobody waits behind others for more than two minutes
constexpr int32_t kMostSamples = 1024;
constexpr size_t kMostStops = 64, kLongestStop = 1024;

Deadline earlier(Deadline a, int64_t at_ns) { return {std::min(a.at_ns, at_ns)}; }

// Not secret, only different each time.
int64_t random_seed(uint64_t salt) {
  return static_cast<int64_t>(
      mix_seed(static_cast<uint64_t>(now_ns()) ^ (salt * 0x9e3779b97f4a7c15ull), 7) >> 1);
}

}  // namespace

// ---- shared ----

HostCodeScope::HostCodeScope(EngineShared& shared) : shared_(shared) {
  const std::lock_guard lock(shared_.mutex);
  shared_.in_callback.push_back(std::this_thread::get_id());
}
HostCodeScope::~HostCodeScope() {
  const std::lock_guard lock(shared_.mutex);
  const auto it =
      std::find(shared_.in_callback.begin(), shared_.in_callback.end(), std::this_thread::get_id());
  if (it != shared_.in_callback.end()) shared_.in_callback.erase(it);
}

PumpResult EngineShared::pump(Deadline deadline) {
  const std::unique_lock lock(owner, std::try_to_lock);
  if (!lock.owns_lock()) return PumpResult::busy;
  return engine ? engine->pump(deadline) : PumpResult::idle;
}

// ---- life ----

Result<std::unique_ptr<EngineImpl>> EngineImpl::create(std::shared_ptr<const LoadedModel> model,
                                                       const EngineOptions& options,
                                                       const KvLayout& layout) {
  std::unique_ptr<EngineImpl> engine(new EngineImpl(std::move(model), options));
  engine->longest_sequence_ = layout.longest_sequence(options.ctx_tokens);
  engine->shared_ = std::make_shared<EngineShared>();
  engine->shared_->host_stepped = options.host_stepped;
  engine->shared_->in_callback.reserve(
      2 * CallbackDelivery::kMaxThreads);  // entering host code must not fail
  engine->shared_->delivery = std::make_shared<CallbackDelivery>(!options.host_stepped);
  LLMRT_ASSIGN(engine->steps_,
               StepEngine::create(*engine->model_, options, layout, engine->shared_));
  engine->shared_->engine = engine.get();
  if (!options.host_stepped)
    LLMRT_TRY(engine->thread_.start("llmrt-engine", [e = engine.get()] { e->run_thread(); }));
  return engine;
}

EngineImpl::~EngineImpl() {
  if (!shared_ || !steps_) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = shared_->stopping = shared_->wake = true;
  }
  shared_->work.notify_all();
  cancel_live();
  thread_.join();
  {
    const std::lock_guard owner(shared_->owner);
    shared_->engine = nullptr;
    steps_->end_all(Code::cancelled);
    steps_.reset();
  }
  shared_->delivery->stop();
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ready.clear();
    shared_->live.clear();
  }
  shared_->changed.notify_all();
}

void EngineImpl::cancel_live() {
  std::vector<std::shared_ptr<RequestImpl>> live;
  {
    const std::lock_guard lock(shared_->mutex);
    live = shared_->live;
  }
  for (const auto& request : live) request->cancel(true);
}

void EngineImpl::run_thread() {
  for (;;) {
    int64_t timer = INT64_MAX;
    {
      const std::lock_guard owner(shared_->owner);
      {
        const std::lock_guard lock(shared_->mutex);
        if (shared_->stopping) return;
        shared_->wake = false;
      }
      const bool is_paused = shared_->paused;
      const StepOutcome outcome = steps_->step({now_ns() + kSliceNs}, !is_paused);
      const int64_t now = now_ns();
      const bool delivering = shared_->delivery->watch(shared_, now);
      if (outcome == StepOutcome::worked || outcome == StepOutcome::suspended) continue;
      timer = steps_->next_timer(now);
      if (outcome == StepOutcome::blocked && !is_paused)
        timer = std::min(timer, now + kMemoryRetryNs);
      if (delivering) timer = std::min(timer, now + CallbackDelivery::kStuckNs);
    }
    std::unique_lock lock(shared_->mutex);
    const auto due = [this] { return shared_->wake || shared_->stopping; };
    if (timer == INT64_MAX)
      shared_->work.wait(lock, due);
    else
      shared_->work.wait_for(
          lock, std::chrono::nanoseconds(std::max<int64_t>(timer - now_ns(), 100'000)), due);
  }
}

// ---- host-stepped ----

PumpResult EngineImpl::pump(Deadline deadline) {
  const StepOutcome outcome = steps_->step(deadline, !shared_->paused);
  const bool delivered = shared_->delivery->run_inline(*shared_);
  return delivered || outcome == StepOutcome::worked || outcome == StepOutcome::suspended
             ? PumpResult::ran
             : PumpResult::idle;
}

Status EngineImpl::step(int32_t budget_us) {
  LLMRT_TRY(refuse_in_callback("step"));
  if (!options_.host_stepped)
    return error(Code::unsupported,
                 "step() drives engines created with threading 1, this one has its own thread");
  const std::unique_lock owner(shared_->owner, std::try_to_lock);
  if (!owner.owns_lock()) return Status(Code::pending);
  const Deadline deadline = budget_us < 0    ? Deadline::never()
                            : budget_us == 0 ? Deadline::at_once()
                                             : Deadline::after_us(budget_us);
  for (;;) {
    const StepOutcome outcome =
        steps_->step(earlier(deadline, now_ns() + kSliceNs), !shared_->paused);
    shared_->delivery->run_inline(*shared_);
    if (outcome == StepOutcome::idle) return {};
    if (outcome == StepOutcome::blocked) return Status(Code::pending);
    if (deadline.passed()) return steps_->has_work() ? Status(Code::pending) : Status();
  }
}

// ---- submit ----

Status EngineImpl::refuse_in_callback(const char* call) const {
  if (!shared_->inside_callback()) return {};
  return error(Code::busy,
               "%s() was called inside a callback, only cancel and getters are allowed there",
               call);
}

Status EngineImpl::check_prompt(std::span<const Token> prompt) const {
  if (prompt.empty())
    return error(Code::invalid_argument, "the prompt has no tokens, at least 1 is needed");
  const auto n_vocab = static_cast<Token>(model_->def.program.n_vocab);
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || prompt[i] >= n_vocab)
      return error(Code::invalid_argument,
                   "token %d at position %zu is not in the vocabulary, ids are 0 to %d", prompt[i],
                   i, n_vocab - 1);
  }
  if (prompt.size() > options_.ctx_tokens)
    return error(Code::context_full, "the prompt has %zu tokens, the context holds %u",
                 prompt.size(), options_.ctx_tokens);
  return {};
}

// How many tokens the request may add. It fits the context and the KV pool, or is refused here and not later.
Result<uint32_t> EngineImpl::most_new_tokens(size_t n_prompt, const GenParams& params) const {
  const uint32_t n = static_cast<uint32_t>(n_prompt), room = options_.ctx_tokens - n;
  uint32_t most = 0;
  if (params.max_tokens < 0) {
    most = std::min(room, longest_sequence_ - std::min(longest_sequence_, n));
  } else {
    most = static_cast<uint32_t>(params.max_tokens);
    if (most > room && (options_.overflow == Overflow::error || room == 0))
      return error(Code::context_full,
                   "%u prompt tokens and %u new ones are %llu, the context holds %u", n, most,
                   static_cast<unsigned long long>(n) + most, options_.ctx_tokens);
    most = std::min(most, room);
  }
  const KvLayout& layout = steps_->layout();
  const uint32_t longest = n + (params.max_tokens < 0 ? std::max(most, 1u) : most);
  if (const uint64_t blocks = layout.worst_blocks(longest, 1); blocks > layout.capacity())
    return error(Code::memory_budget, "%u tokens need %llu KV blocks, the engine has %u", longest,
                 static_cast<unsigned long long>(blocks), layout.capacity());
  if (params.max_tokens < 0 && most == 0)
    return error(Code::context_full,
                 "the prompt's %u tokens fill the context of %u, at least 1 must be left", n,
                 options_.ctx_tokens);
  return most;
}

Status EngineImpl::check_params(const GenParams& params) const {
  if (params.n < 1 || params.n > kMostSamples)
    return error(Code::invalid_argument, "n is %d, allowed are 1 to %d", params.n, kMostSamples);
  if (params.max_tokens < -1)
    return error(Code::invalid_argument, "max_tokens is %d, allowed are -1 and up",
                 params.max_tokens);
  if (params.seed < -1)
    return error(Code::invalid_argument, "seed is %lld, allowed are -1 and up",
                 static_cast<long long>(params.seed));
  if (params.timeout_ms < 0)
    return error(Code::invalid_argument, "timeout_ms is %d, allowed are 0 and up",
                 params.timeout_ms);
  if (params.stall_timeout_ms < 0)
    return error(Code::invalid_argument, "stall_timeout_ms is %d, allowed are 0 and up",
                 params.stall_timeout_ms);
  if (params.stop.size() > kMostStops)
    return error(Code::invalid_argument, "%zu stop strings, at most %zu are allowed",
                 params.stop.size(), kMostStops);
  for (const std::string& stop : params.stop) {
    if (stop.empty() || stop.size() > kLongestStop)
      return error(Code::invalid_argument, "a stop string has %zu bytes, allowed are 1 to %zu",
                   stop.size(), kLongestStop);
  }
  if (!params.stop.empty() && !model_->tokenizer)
    return error(Code::unsupported, "stop strings need a tokenizer, the model has none");
  if (params.delivery == Delivery::callback && !params.on_event)
    return error(Code::invalid_argument, "callback delivery without on_event");
  return {};
}

std::span<const TokenBytes> EngineImpl::token_bytes() {
  if (!model_->tokenizer || model_->tokenizer->n_vocab() != model_->def.program.n_vocab) return {};
  std::call_once(token_bytes_once_, [this] {
    token_bytes_.reserve(model_->tokenizer->n_vocab());
    for (uint32_t id = 0; id < model_->tokenizer->n_vocab(); ++id)
      token_bytes_.push_back(model_->tokenizer->token_bytes(static_cast<Token>(id)));
  });
  return token_bytes_;
}

Result<RequestPtr> EngineImpl::submit(std::vector<Token> prompt, const GenParams& params) {
  LLMRT_TRY(refuse_in_callback("submit"));
  LLMRT_TRY(check_prompt(prompt));
  LLMRT_TRY(check_params(params));
  LLMRT_ASSIGN(const uint32_t n_max, most_new_tokens(prompt.size(), params));
  LLMRT_ASSIGN(auto chain,
               Chain::make(params.sampling, model_->def.program.n_vocab,
                           params.sampling.dry_multiplier != 0 ? token_bytes()
                                                               : std::span<const TokenBytes>()));
  GenParams fixed = params;
  if (fixed.seed < 0) fixed.seed = random_seed(reinterpret_cast<uintptr_t>(chain.get()));
  auto request =
      std::make_shared<RequestImpl>(shared_, fixed, static_cast<uint32_t>(prompt.size()));
  request->chain = std::move(chain);
  request->edit_usage([&](Usage& usage) { usage.seed = fixed.seed; });

  Submission submission;
  submission.request = request;
  const int64_t priority = std::clamp(params.priority, -kPriorityLimit, kPriorityLimit);
  for (int32_t i = 0; i < params.n; ++i) {
    auto sequence = std::make_unique<Sequence>(request, steps_->layout(), params.stop);
    sequence->sample = i;
    sequence->state = i == 0 ? SeqState::queued : SeqState::following;
    sequence->tokens.reserve(prompt.size() + std::min(n_max, 1024u));
    sequence->tokens = prompt;
    sequence->n_prompt = static_cast<uint32_t>(prompt.size());
    sequence->n_max = n_max;
    sequence->seed = mix_seed(static_cast<uint64_t>(fixed.seed), static_cast<uint32_t>(i));
    sequence->rank_key = request->submitted_ns - priority * kAgeingNs;
    // the answer goes on behind the prompt: no rule of a text's beginning applies to it
    if (model_->tokenizer) sequence->decoder.emplace(*model_->tokenizer, false, false);
    submission.sequences.push_back(std::move(sequence));
  }
  LLMRT_TRY(enqueue(std::move(submission)));
  return RequestPtr(std::move(request));
}

Status EngineImpl::enqueue(Submission submission) {
  const auto request = submission.request;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->closed) return error(Code::closed, "the engine is closed");
    const size_t waiting = shared_->inbox.size() + shared_->n_waiting;
    if (waiting >= options_.queue_limit)
      return error(Code::queue_full, "%zu requests wait, queue_limit is %u", waiting,
                   options_.queue_limit);
    shared_->inbox.reserve(shared_->inbox.size() + 1);
    shared_->live.push_back(request);
    for (auto& sequence : submission.sequences) sequence->order = shared_->n_submitted;
    ++shared_->n_submitted;
    shared_->inbox.push_back(std::move(submission));
    shared_->wake = true;
  }
  shared_->work.notify_one();
  return {};
}

// ---- events ----

Code EngineImpl::next(int32_t timeout_ms, Event& out, RequestPtr& request) {
  if (shared_->inside_callback()) return Code::busy;
  const int64_t until = timeout_ms < 0 ? INT64_MAX : now_ns() + int64_t{timeout_ms} * 1'000'000;
  for (;;) {
    std::shared_ptr<RequestImpl> ready;
    bool drained = false;
    {
      const std::lock_guard lock(shared_->mutex);
      ready = shared_->ready.pop();
      drained = !ready && shared_->closed && shared_->live.empty();
    }
    if (ready) {
      bool more = false;
      const Code code = ready->take_listed(out, more);
      if (more) {
        const std::lock_guard lock(shared_->mutex);
        shared_->ready.push(ready);
      }
      if (code != Code::ok) continue;
      request = std::move(ready);
      return Code::ok;
    }
    if (drained) return Code::end;
    const int64_t now = now_ns();
    if (timeout_ms == 0 || now >= until) return Code::pending;
    if (options_.host_stepped) {
      const PumpResult result = shared_->pump({std::min(until, now + kSliceNs)});
      if (result == PumpResult::busy) return Code::pending;
      if (result == PumpResult::ran) continue;
    }
    // timeouts hold even if the engine's thread is stuck in a device
    std::vector<std::shared_ptr<RequestImpl>> live;
    {
      const std::lock_guard lock(shared_->mutex);
      live = shared_->live;
    }
    int64_t wake = options_.host_stepped ? std::min(until, now + 20'000'000) : until;
    for (const auto& r : live) {
      r->check_timeouts(now);
      if (!r->ended()) wake = std::min(wake, r->next_timeout());
    }
    std::unique_lock lock(shared_->mutex);
    if (!shared_->ready.empty() || (shared_->closed && shared_->live.empty())) continue;
    if (wake == INT64_MAX)
      shared_->changed.wait(lock);
    else if (wake > now_ns())
      shared_->changed.wait_for(lock, std::chrono::nanoseconds(wake - now_ns()));
  }
}

// ---- pause, trim, close ----

Status EngineImpl::pause() {
  LLMRT_TRY(refuse_in_callback("pause"));
  shared_->paused = true;
  const std::lock_guard owner(
      shared_->owner);  // whoever computes now stops at the next chunk border of its slice
  return {};
}

Status EngineImpl::resume() {
  LLMRT_TRY(refuse_in_callback("resume"));
  shared_->paused = false;
  shared_->notify_owner();
  return {};
}

Status EngineImpl::trim(int32_t level) {
  LLMRT_TRY(refuse_in_callback("trim"));
  if (level < 1 || level > 3)
    return error(Code::invalid_argument, "trim level is %d, allowed are 1 to 3", level);
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->trim_level = std::max(shared_->trim_level, level);
  }
  shared_->notify_owner();
  if (!options_.host_stepped) return {};
  const std::unique_lock owner(shared_->owner, std::try_to_lock);
  if (owner.owns_lock())
    steps_->step(Deadline::at_once(), false);  // now, unless a pass is open: then when it ends
  return {};
}

Status EngineImpl::close(int32_t timeout_ms) {
  LLMRT_TRY(refuse_in_callback("close"));
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
  }
  const int64_t until = timeout_ms < 0 ? INT64_MAX : now_ns() + int64_t{timeout_ms} * 1'000'000;
  bool drained = false;
  for (;;) {
    const int64_t now = now_ns();
    {
      std::unique_lock lock(shared_->mutex);
      drained = shared_->live.empty();
      if (drained || now >= until) break;
      if (!options_.host_stepped) {
        if (until == INT64_MAX)
          shared_->changed.wait(lock);
        else
          shared_->changed.wait_for(lock, std::chrono::nanoseconds(until - now));
        continue;
      }
    }
    if (shared_->pump({std::min(until, now + kSliceNs)}) != PumpResult::ran) {
      std::unique_lock lock(shared_->mutex);
      shared_->changed.wait_for(lock, std::chrono::milliseconds(5));
    }
  }
  cancel_live();
  shared_->changed.notify_all();
  if (drained || timeout_ms == 0) return {};
  return error(Code::timeout, "requests were still running after %d ms and were cancelled",
               timeout_ms);
}

// ---- getters ----

EngineMetrics EngineImpl::metrics() const {
  EngineMetrics metrics = steps_->stats().snapshot(now_ns());
  metrics.heartbeat = shared_->heartbeat.load(std::memory_order_relaxed);
  const std::lock_guard lock(shared_->mutex);
  metrics.waiting += static_cast<int32_t>(shared_->inbox.size());
  return metrics;
}

EngineCounters EngineImpl::counters() const { return steps_->counters(); }

Status EngineImpl::validate() const {
  const std::lock_guard owner(shared_->owner);
  return steps_->validate();
}

}  // namespace llmrt
