#include "engine/delivery.h"

#include <new>
#include <utility>

#include "base/clock.h"
#include "engine/request.h"
#include "engine/shared.h"

namespace llmrt {

void CallbackDelivery::enqueue(std::shared_ptr<RequestImpl> request) {
  const std::lock_guard lock(mutex_);
  ready_.push(std::move(request));
  wake_.notify_one();
}

void CallbackDelivery::deliver(EngineShared& shared, const std::shared_ptr<RequestImpl>& request) {
  const GenParams& params = request->params;
  Event& event = request->delivered;
  while (request->take_for_delivery(event) == Code::ok) {
    if (!params.on_event) continue;
    request->set_in_callback(true);
    const int32_t stop = params.on_event(params.user, event, request.get());
    request->set_in_callback(false);
    if (stop != 0 && event.type != EventType::done) request->cancel(false);
  }
  if (request->ended()) shared.notify_owner();  // a natural end counted only now: to be swept up
}

bool CallbackDelivery::run_inline(EngineShared& shared) {
  bool any = false;
  std::unique_lock lock(mutex_);
  while (!ready_.empty()) {
    std::shared_ptr<RequestImpl> request = ready_.pop();
    ++n_delivering_;
    lock.unlock();
    any = true;
    deliver(shared, request);
    request.reset();
    lock.lock();
    --n_delivering_;
  }
  return any;
}

void CallbackDelivery::work(EngineShared& shared) {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!stopping_ && ready_.empty()) {
      ++n_idle_;
      wake_.wait(lock);
      --n_idle_;
    }
    if (ready_.empty()) return;
    std::shared_ptr<RequestImpl> request = ready_.pop();
    ++n_delivering_;
    last_taken_ns_ = now_ns();
    lock.unlock();
    deliver(shared, request);
    request.reset();
    lock.lock();
    --n_delivering_;
  }
}

bool CallbackDelivery::watch(const std::shared_ptr<EngineShared>& shared, int64_t now) noexcept {
  const std::lock_guard lock(mutex_);
  if (!threads_allowed_ || stopping_ || ready_.empty()) return false;
  if (n_idle_ > 0) return true;
  if (!threads_.empty() && (now - last_taken_ns_ < kStuckNs || threads_.size() >= kMaxThreads))
    return true;
  last_taken_ns_ = now;
  try {
    threads_.reserve(threads_.size() + 1);
    auto thread = std::make_unique<ServiceThread>();
    if (thread->start("llmrt-deliver", [this, shared] { work(*shared); }).ok())
      threads_.push_back(std::move(thread));
  } catch (const std::bad_alloc&) {  // no memory for a thread now: tried again when looked at next
  }
  return true;
}

void CallbackDelivery::finish(EngineShared& shared) {
  run_inline(shared);
  std::vector<std::unique_ptr<ServiceThread>> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (auto& thread : threads) thread->join();
}

bool CallbackDelivery::idle() const {
  const std::lock_guard lock(mutex_);
  return ready_.empty() && n_delivering_ == 0;
}

}  // namespace llmrt
