// IdTable: what a backend owns, by id. The engines of a model share its backend and come and go on threads of their own, so adding and
// removing is safe beside the use of other ids. An id is given again once it was removed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace llmrt {

template <class T>
class IdTable {
 public:
  uint32_t add(std::unique_ptr<T> item) {
    const std::lock_guard lock(mutex_);
    const auto free = std::find(items_.begin(), items_.end(), nullptr);
    const auto id = static_cast<uint32_t>(free - items_.begin());
    if (free == items_.end())
      items_.push_back(std::move(item));
    else
      *free = std::move(item);
    return id;
  }
  void remove(uint32_t id) {
    std::unique_ptr<T> item;  // goes outside the lock
    const std::lock_guard lock(mutex_);
    item = std::move(items_[id]);
  }
  // nullptr: no such id. Valid until it is removed.
  T* find(uint32_t id) const {
    const std::lock_guard lock(mutex_);
    return id < items_.size() ? items_[id].get() : nullptr;
  }
  T& operator[](uint32_t id) const { return *find(id); }

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<T>> items_;  // nullptr: removed
};

}  // namespace llmrt
