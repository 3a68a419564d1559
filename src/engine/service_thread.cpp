#include "engine/service_thread.h"

#include <csignal>
#include <cstring>
#include <memory>

namespace llmrt {
namespace {

constexpr size_t kStackBytes = 512 * 1024;

struct Start {
  std::function<void()> body;
  char name[16] = {};
};

void* enter(void* raw) {
  const std::unique_ptr<Start> start(static_cast<Start*>(raw));
  pthread_setname_np(pthread_self(), start->name);
  start->body();
  return nullptr;
}

}  // namespace

Status ServiceThread::start(const char* name, std::function<void()> body) {
  auto start = std::make_unique<Start>();
  start->body = std::move(body);
  std::strncpy(start->name, name, sizeof start->name - 1);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, kStackBytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits it
  const int rc = pthread_create(&thread_, &attr, enter, start.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attr);
  if (rc != 0)
    return error(Code::out_of_memory, "the thread %s could not be started: %s", name, strerror(rc))
        .sys(rc);
  start.release();
  started_ = true;
  return {};
}

void ServiceThread::join() {
  if (!started_) return;
  started_ = false;
  if (pthread_equal(thread_, pthread_self()))
    pthread_detach(thread_);
  else
    pthread_join(thread_, nullptr);
}

void ServiceThread::detach() {
  if (!started_) return;
  started_ = false;
  pthread_detach(thread_);
}

}  // namespace llmrt
