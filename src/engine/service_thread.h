// ServiceThread: a thread of the library: named, all signals blocked, 256 KiB of stack at least. start() fails with a Status where
// std::thread would throw.
#pragma once

#include <pthread.h>

#include <functional>

#include "base/status.h"

namespace llmrt {

class ServiceThread {
 public:
  ServiceThread() = default;
  ~ServiceThread() { join(); }
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  Status start(const char* name, std::function<void()> body);  // name: at most 15 bytes
  // Waits for the body to return. Called by the body's own thread: lets it go on alone.
  void join();
  void detach();  // nobody will wait for it
  bool running() const { return started_; }

 private:
  pthread_t thread_{};
  bool started_ = false;
};

}  // namespace llmrt
