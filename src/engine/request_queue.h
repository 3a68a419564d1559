// RequestQueue: requests with something to deliver, in order of arrival. Linked through the requests, so pushing never allocates: a
// request can end when memory is gone. Not locked.
#pragma once

#include <memory>
#include <utility>

namespace llmrt {

template <class R>  // has std::shared_ptr<R> next_in_queue
class RequestQueue {
 public:
  RequestQueue() = default;
  ~RequestQueue() { clear(); }
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  bool empty() const { return head_ == nullptr; }
  void push(std::shared_ptr<R> request) {
    R* last = request.get();
    (head_ ? tail_->next_in_queue : head_) = std::move(request);
    tail_ = last;
  }
  std::shared_ptr<R> pop() {
    std::shared_ptr<R> first = std::move(head_);
    if (first) head_ = std::move(first->next_in_queue);
    return first;
  }
  void clear() {
    while (pop()) {
    }
  }

 private:
  std::shared_ptr<R> head_;
  R* tail_ = nullptr;
};

}  // namespace llmrt
