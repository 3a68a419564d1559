// EventQueue: events of one request that nobody took yet. A reader that lags finds text events merged, so the queue is bounded by the
// request's text, not by its token count. Not locked: the request is.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/engine.h"

namespace llmrt {

class EventQueue {
 public:
  static constexpr size_t kMergeFrom = 16;  // events of a sample merge once this many wait

  void push(Event event);
  bool pop(Event& out);
  bool empty() const { return size() == 0; }
  size_t size() const { return events_.size() - head_; }

 private:
  std::vector<Event>
      events_;  // [0, head_) were taken; their room is used again before the vector grows
  size_t head_ = 0;
};

}  // namespace llmrt
