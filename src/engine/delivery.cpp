#include "engine/delivery.h"

#include <new>
#include <utility>

#include "base/clock.h"
#include "engine/request.h"
#include "engine/shared.h"

namespace llmrt {

CallbackDelivery::~CallbackDelivery() { stop(); }

void CallbackDelivery::enqueue(std::shared_ptr<RequestImpl> request) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  ready_.push(std::move(request));
  wake_.notify_one();
}

void CallbackDelivery::deliver(EngineShared& shared, const std::shared_ptr<RequestImpl>& request) {
  const GenParams& params = request->params;
  Event event;
  while (!stopping() && request->take_for_delivery(event) == Code::ok) {
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
  for (;;) {
    std::shared_ptr<RequestImpl> request;
    {
      const std::lock_guard lock(mutex_);
      if (ready_.empty()) return any;
      request = ready_.pop();
    }
    any = true;
    deliver(shared, request);
  }
}

void CallbackDelivery::work(EngineShared& shared) {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!stopping_ && ready_.empty()) {
      ++n_idle_;
      wake_.wait(lock);
      --n_idle_;
    }
    if (stopping_) return;
    std::shared_ptr<RequestImpl> request = ready_.pop();
    last_taken_ns_ = now_ns();
    lock.unlock();
    deliver(shared, request);
    request.reset();
    lock.lock();
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

void CallbackDelivery::stop() {
  std::vector<std::unique_ptr<ServiceThread>> threads;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ready_.clear();
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (auto& thread : threads) thread->join();
}

bool CallbackDelivery::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

}  // namespace llmrt
