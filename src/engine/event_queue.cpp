#include "engine/event_queue.h"

#include <utility>

namespace llmrt {

void EventQueue::push(Event event) {
  if (event.type == EventType::progress && !events_.empty() &&
      events_.back().type == EventType::progress) {
    events_.back().done = event.done;
    return;
  }
  if (event.type == EventType::text && events_.size() >= kMergeFrom) {
    for (auto it = events_.rbegin(); it != events_.rend(); ++it) {
      if (it->sample != event.sample) continue;
      if (it->type != EventType::text) break;
      it->text += event.text;
      it->n_tokens += event.n_tokens;
      it->token = -1;
      it->logprob = event.logprob;
      return;
    }
  }
  events_.push_back(std::move(event));
}

bool EventQueue::pop(Event& out) {
  if (events_.empty()) return false;
  out = std::move(events_.front());
  events_.pop_front();
  return true;
}

}  // namespace llmrt
