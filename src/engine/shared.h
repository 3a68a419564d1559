// EngineShared: what an engine, its requests and its threads have in common. Requests keep it alive, so they outlive the engine.
//
// Locks, and the only order in which two may be held: owner -> stats -> request -> mutex. Callbacks and the log run with none
// of them but owner.
//   owner    held by whoever runs the five verbs: the engine's thread, or the host inside step()
//   request  RequestImpl's own: its events and results
//   mutex    everything in this struct
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "engine/request_queue.h"
#include "engine/sequence.h"

namespace llmrt {

class EngineImpl;
class CallbackDelivery;

// A request on its way to the owner.
struct Submission {
  std::shared_ptr<RequestImpl> request;
  std::vector<std::unique_ptr<Sequence>> sequences;  // one per sample
};

enum class PumpResult { ran, idle, busy };

// A reader of a host-stepped engine that has nothing to run looks again after this.
inline constexpr int64_t kIdleSliceNs = 20'000'000;

struct EngineShared {
  std::mutex owner;
  EngineImpl* engine = nullptr;  // guarded by owner; nullptr once the engine is gone
  bool host_stepped = false;     // constant

  std::mutex mutex;
  std::condition_variable work;     // wakes the engine's thread
  std::condition_variable changed;  // Engine::next and close wait here
  std::vector<Submission> inbox;
  std::vector<std::shared_ptr<RequestImpl>> live;  // submitted and not yet taken apart by the owner
  RequestQueue<RequestImpl> ready;  // delivery engine_queue: requests with events to read
  uint32_t n_waiting = 0;           // requests the owner holds of which no sample ever ran
  uint64_t n_submitted = 0;
  int32_t trim_level = 0;
  bool wake = false, closed = false, stopping = false;

  std::shared_ptr<CallbackDelivery> delivery;  // constant after creation
  std::atomic<bool> paused{false};
  std::atomic<int64_t> heartbeat{0};
  std::atomic<int64_t> n_done{0}, n_failed{0}, n_cancelled{0};  // requests, evaluations left out

  void notify_owner() {
    {
      const std::lock_guard lock(mutex);
      wake = true;
    }
    work.notify_one();
  }
  // Closed, every request ended, every event of the engine's queue read.
  bool drained_locked() const;
  // Runs a host-stepped engine for at most one pass, and no longer than a slice or the deadline. busy: another thread is inside.
  PumpResult pump(Deadline deadline);
};

}  // namespace llmrt
