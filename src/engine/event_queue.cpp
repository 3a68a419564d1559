#include "engine/event_queue.h"

#include <utility>

namespace llmrt {

void EventQueue::push(Event event) {
  if (event.type == EventType::progress && !empty() && events_.back().type == EventType::progress) {
    events_.back().done = event.done;
    return;
  }
  if (event.type == EventType::text && size() >= kMergeFrom) {
    for (size_t i = events_.size(); i-- > head_;) {
      Event* it = &events_[i];
      if (it->sample != event.sample) continue;
      if (it->type != EventType::text) break;
      it->text += event.text;
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
  events_.push_back(std::move(event));
}

bool EventQueue::pop(Event& out) {
  if (empty()) return false;
  out = std::move(events_[head_++]);
  if (head_ == events_.size()) {
    events_.clear();
    head_ = 0;
  }
  return true;
}

}  // namespace llmrt
