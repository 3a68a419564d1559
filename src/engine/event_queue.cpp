#include "engine/event_queue.h"

#include <algorithm>

#include "base/check.h"

namespace llmrt {

// Beyond kMergeFrom there are at most, of each sample, a text event that the next ones join, and its end. And one progress event, which
// counts as sample 0's: a text of that sample on either side of it. Only where there are several samples can the first of these be
// missing among the kMergeFrom, so 3 for each are enough.
EventQueue::EventQueue(size_t n_samples) { events_.reserve(kMergeFrom + 3 * n_samples); }

void EventQueue::push(const QueuedEvent& event) {
  const bool merges = size() >= kMergeFrom;
  if (event.type == EventType::progress && !empty()) {
    const size_t oldest = merges ? head_ : events_.size() - 1;  // that it may join
    for (size_t i = events_.size(); i-- > oldest;) {
      if (events_[i].type != EventType::progress) continue;
      events_[i].done = event.done;
      return;
    }
  }
  if (event.type == EventType::text && merges) {
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
  LLMRT_ASSERT(events_.size() < events_.capacity());
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
