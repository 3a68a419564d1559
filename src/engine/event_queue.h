// EventQueue: events of one request that nobody took yet. A reader that lags finds text events merged, so the queue is bounded, and its
// memory is taken when it is made: a text event is a piece of its sample's text, which is kept anyway, and merging lengthens it; of
// progress the newest counts. So a request can say all it has to say when memory is gone. Not locked: the request is.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/engine.h"

namespace llmrt {

struct QueuedEvent : EventHead {
  size_t text_begin = 0, text_size = 0;  // of the sample's text
};

class EventQueue {
 public:
  static constexpr size_t kMergeFrom =
      16;  // text of a sample, and progress, merge once this many wait

  explicit EventQueue(size_t n_samples = 1);

  // Text events of a sample come in the order of its text, without gaps, its end behind them. Never allocates.
  void push(const QueuedEvent& event);
  const QueuedEvent& front() const { return events_[head_]; }  // precondition: not empty
  void pop();                                                  // drops the front
  void drop_text();                                            // all text events
  bool empty() const { return size() == 0; }
  size_t size() const { return events_.size() - head_; }

 private:
  // [0, head_) were taken; their room is used again before the vector grows
  std::vector<QueuedEvent> events_;
  size_t head_ = 0;
};

}  // namespace llmrt
