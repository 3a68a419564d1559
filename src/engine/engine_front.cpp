#include "engine/engine_front.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include "base/wait.h"
#include "engine/delivery.h"
#include "engine/limits.h"

namespace llmrt {
namespace {

// Who computes looks up this often: cancel, pause, close and readers wait no longer.
constexpr int64_t kSliceNs = 5'000'000;
constexpr int64_t kMemoryRetryNs = 5'000'000;  // nothing can run for lack of memory: try again

Deadline slice() { return {now_ns() + kSliceNs}; }

}  // namespace

// ---- shared ----

bool EngineShared::drained_locked() const {
  return closed && ready.empty() &&
         std::all_of(live.begin(), live.end(),
                     [](const std::shared_ptr<RequestImpl>& request) { return request->ended(); });
}

PumpResult EngineShared::pump(Deadline deadline) {
  const std::unique_lock lock(owner, std::try_to_lock);
  if (!lock.owns_lock()) return PumpResult::busy;
  return engine ? engine->pump(earlier(deadline, slice())) : PumpResult::idle;
}

// ---- life ----

Result<std::unique_ptr<EngineImpl>> EngineImpl::create(std::shared_ptr<const LoadedModel> model,
                                                       const EngineOptions& options,
                                                       const KvLayout& layout) {
  std::unique_ptr<EngineImpl> engine(new EngineImpl(std::move(model), options));
  engine->longest_sequence_ = layout.longest_sequence(options.ctx_tokens);
  engine->shared_ = std::make_shared<EngineShared>();
  engine->shared_->host_stepped = options.host_stepped;
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
    try {
      steps_->end_all();
    } catch (const std::bad_alloc&) {  // cancel_live() has told all ends, what is left just goes
    }
    steps_.reset();
  }
  shared_->delivery->finish(*shared_);
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->inbox.clear();
    shared_->ready.clear();
    shared_->live.clear();
  }
  shared_->changed.notify_all();
}

bool EngineImpl::at_rest() const {
  if (options_.host_stepped) return true;
  {
    const std::lock_guard lock(shared_->mutex);
    if (!std::all_of(shared_->live.begin(), shared_->live.end(),
                     [](const auto& request) { return request->ended_well(); }))
      return false;
  }
  return shared_->delivery->idle();
}

// From the last one on, for the owner takes requests off the list meanwhile. Never allocates.
void EngineImpl::for_each_live(FunctionRef<void(RequestImpl&)> visit) {
  for (size_t i = SIZE_MAX;;) {
    std::shared_ptr<RequestImpl> request;
    {
      const std::lock_guard lock(shared_->mutex);
      i = std::min(i, shared_->live.size());
      if (i == 0) return;
      request = shared_->live[--i];
    }
    visit(*request);
  }
}

void EngineImpl::cancel_live() {
  for_each_live([](RequestImpl& request) { request.cancel(false); });
}

void EngineImpl::run_thread() {
  const ThreadPool::Member member(model_->host->pool());  // worker 0 while it computes
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
      const StepOutcome outcome = steps_->step(slice(), !is_paused);
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
  LLMRT_TRY(refuse_if_closed());
  if (!options_.host_stepped)
    return error(Code::unsupported,
                 "only an engine with threading 1 is stepped, this one has its own thread")
        .at("threading");
  const std::unique_lock owner(shared_->owner, std::try_to_lock);
  if (!owner.owns_lock()) return Status(Code::pending);
  const Deadline deadline = budget_us < 0    ? Deadline::never()
                            : budget_us == 0 ? Deadline::at_once()
                                             : Deadline::after_us(budget_us);
  for (;;) {
    const StepOutcome outcome = steps_->step(earlier(deadline, slice()), !shared_->paused);
    shared_->delivery->run_inline(*shared_);
    if (outcome == StepOutcome::idle) return {};
    if (outcome == StepOutcome::blocked) return Status(Code::pending);
    if (deadline.passed()) return steps_->has_work() ? Status(Code::pending) : Status();
  }
}

// ---- closed ----

bool EngineImpl::closed() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->closed;
}

Status EngineImpl::refuse_if_closed() const {
  if (!closed()) return {};
  return error(Code::closed, "the engine is closed");
}

// ---- events ----

Code EngineImpl::next(int32_t timeout_ms, Event& out, RequestPtr& request) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  for (;;) {
    std::shared_ptr<RequestImpl> ready;
    bool drained = false;
    {
      const std::lock_guard lock(shared_->mutex);
      ready = shared_->ready.pop();
      drained = !ready && shared_->drained_locked();
    }
    if (ready) {
      bool more = false;
      const Code code = ready->take_listed(out, more);
      if (more) {
        const std::lock_guard lock(shared_->mutex);
        shared_->ready.push(ready);
      }
      if (code == Code::out_of_memory) return code;
      if (code != Code::ok) continue;
      request = std::move(ready);
      return Code::ok;
    }
    if (drained) return Code::closed;
    if (deadline.passed()) return Code::pending;
    if (options_.host_stepped) {
      const PumpResult result = shared_->pump(deadline);
      if (result == PumpResult::busy) return Code::pending;
      if (result == PumpResult::ran) continue;
    }
    // timeouts hold even if the engine's thread is stuck in a device
    const int64_t now = now_ns();
    Deadline wake = deadline;
    if (options_.host_stepped) wake = earlier(wake, {now + kIdleSliceNs});
    for_each_live([&](RequestImpl& r) {
      r.check_timeouts(now);
      if (!r.ended()) wake = earlier(wake, {r.next_timeout()});
    });
    std::unique_lock lock(shared_->mutex);
    if (shared_->ready.empty() && !shared_->drained_locked())
      wait_until(shared_->changed, lock, wake);
  }
}

// ---- pause, trim, close ----

Status EngineImpl::pause() {
  LLMRT_TRY(refuse_if_closed());
  shared_->paused = true;
  const std::lock_guard owner(
      shared_->owner);  // whoever computes now stops at the next chunk border of its slice
  return {};
}

Status EngineImpl::resume() {
  LLMRT_TRY(refuse_if_closed());
  if (shared_->paused) {
    const std::lock_guard lock(shared_->mutex);
    for (const auto& request : shared_->live)
      request->note_progress();  // the silence was the host's
  }
  shared_->paused = false;
  shared_->notify_owner();
  return {};
}

Status EngineImpl::trim(int32_t level) {
  LLMRT_TRY(check(limits::kTrimLevel, level));
  LLMRT_TRY(refuse_if_closed());
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
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
  }
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  bool drained = false;
  for (;;) {
    {
      std::unique_lock lock(shared_->mutex);
      drained = shared_->live.empty();
      if (drained || deadline.passed()) break;
      if (!options_.host_stepped) {
        wait_until(shared_->changed, lock, deadline);
        continue;
      }
    }
    if (shared_->pump(deadline) != PumpResult::ran) {
      std::unique_lock lock(shared_->mutex);
      wait_until(shared_->changed, lock, slice());
    }
  }
  cancel_live();
  if (options_.host_stepped) {  // nobody may step it any more: the last callbacks, and what is left
    const std::lock_guard owner(shared_->owner);
    (void)pump(Deadline::at_once());
  }
  shared_->changed.notify_all();
  if (drained || timeout_ms == 0) return {};
  return error(Code::timeout, "requests still ran after timeout_ms = %d and were cancelled",
               timeout_ms)
      .at("timeout_ms");
}

// ---- getters ----

EngineMetrics EngineImpl::metrics() const {
  EngineMetrics metrics = steps_->stats().snapshot(now_ns());
  metrics.heartbeat = shared_->heartbeat.load(std::memory_order_relaxed);
  metrics.done = shared_->n_done.load(std::memory_order_relaxed);
  metrics.failed = shared_->n_failed.load(std::memory_order_relaxed);
  metrics.cancelled = shared_->n_cancelled.load(std::memory_order_relaxed);
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
