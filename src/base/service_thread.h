// ServiceThread: a thread of the library (base/platform/thread.h) that runs a function object. start() fails with a Status where
// std::thread would throw.
#pragma once

#include <functional>

#include "base/platform/thread.h"
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
  void join() { platform::join_thread(thread_); }
  void detach() { platform::detach_thread(thread_); }  // nobody will wait for it

 private:
  platform::Thread thread_;
};

}  // namespace llmrt
