#include "engine/event_queue.h"

#include <algorithm>

namespace llmrt {

// Beyond kMergeFrom there are at most, of each sample, a text event that the next ones join, its end, and a progress event before it.
EventQueue::EventQueue(size_t n_samples) { events_.reserve(kMergeFrom + 3 * n_samples); }

void EventQueue::push(const QueuedEvent& event) {
  if (event.type == EventType::progress && !empty() && events_.back().type == EventType::progress) {
    events_.back().done = event.done;
    return;
  }
  if (event.type == EventType::text && size() >= kMergeFrom) {
    for (size_t i = events_.size(); i-- > head_;) {
      QueuedEvent* it = &events_[i];
      if (it->sample != event.sample) continue;
      if (it->type != EventType::text) break;
      it->text_size += event.text_size;
      it->n_tokens += event.n_tokens;
      it->token = -1;
      it->logprob = event.logprob;
      return;
    }
  }
  if (head_ > 0 && events_.size() == events_.capacity()) {
    events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  events_.push_back(event);
}

void EventQueue::pop() {
  if (++head_ == events_.size()) {
    events_.clear();
    head_ = 0;
  }
}

void EventQueue::drop_text() {
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
  std::erase_if(events_, [](const QueuedEvent& event) { return event.type == EventType::text; });
}

}  // namespace llmrt
