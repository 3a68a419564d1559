// CallbackDelivery: runs on_event. Engines with a thread of their own deliver from delivery threads, so that a callback that blocks stops
// neither the engine nor other requests' callbacks: when all delivery threads are stuck in host code, watch() starts another one.
// Host-stepped engines have no threads: callbacks run inside step(), and a blocking one blocks the host's own call.
//
// Events of one request are delivered in order, by one thread at a time. on_logits is another matter: it runs on the engine's thread,
// in CHOOSE, and must not block.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/service_thread.h"
#include "engine/request_queue.h"

namespace llmrt {

class RequestImpl;
struct EngineShared;

class CallbackDelivery {
 public:
  static constexpr size_t kMaxThreads = 64;
  static constexpr int64_t kStuckNs = 50'000'000;

  explicit CallbackDelivery(bool threads) : threads_allowed_(threads) {}

  void enqueue(std::shared_ptr<RequestImpl> request);  // it has events, or ended
  // Host-stepped: delivers all that waits. false: nothing waited.
  bool run_inline(EngineShared& shared);
  // Engine's thread: starts a thread if events wait and none takes them. true: look again within kStuckNs.
  bool watch(const std::shared_ptr<EngineShared>& shared, int64_t now) noexcept;
  // The engine ends, every request has ended: delivers what is left, DONE included, here and on the threads, and waits for them.
  void finish(EngineShared& shared);
  bool idle() const;  // no callback runs or waits

 private:
  void work(EngineShared& shared);
  void deliver(EngineShared& shared, const std::shared_ptr<RequestImpl>& request);

  const bool threads_allowed_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  RequestQueue<RequestImpl> ready_;
  std::vector<std::unique_ptr<ServiceThread>> threads_;
  size_t n_idle_ = 0;        // threads that wait
  size_t n_delivering_ = 0;  // requests taken from ready_ whose events are being delivered
  int64_t last_taken_ns_ = 0;
  bool stopping_ = false;
};

}  // namespace llmrt
