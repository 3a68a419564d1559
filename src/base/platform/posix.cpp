#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <memory>

#include "base/platform/thread.h"

namespace llmrt::platform {
namespace {

struct Start {
  ThreadOptions options;
  char name[16];
  void (*entry)(void*);
  void* argument;
};

void* run_thread(void* raw) {
  std::unique_ptr<Start> start(static_cast<Start*>(raw));
  pthread_setname_np(pthread_self(), start->name);
  if (start->options.cpu_mask) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < 64; ++i)
      if ((start->options.cpu_mask >> i) & 1u) CPU_SET(i, &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  if (start->options.nice) {
    const auto tid = static_cast<id_t>(syscall(SYS_gettid));
    (void)setpriority(PRIO_PROCESS, tid, start->options.nice);
  }
  void (*entry)(void*) = start->entry;
  void* argument = start->argument;
  start.reset();
  entry(argument);
  return nullptr;
}

}  // namespace

Status start_thread(Thread& thread, const ThreadOptions& options, void (*entry)(void*),
                    void* argument) {
  auto start = std::make_unique<Start>();
  start->options = options;
  std::strncpy(start->name, options.name, sizeof start->name - 1);
  start->name[sizeof start->name - 1] = '\0';
  start->entry = entry;
  start->argument = argument;

  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{512} << 10);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(
      SIG_SETMASK, &all,
      &before);  // the new thread inherits the mask: signals stay with the host's threads
  pthread_t id{};
  const int failure = pthread_create(&id, &attributes, run_thread, start.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (failure)
    return error(Code::out_of_memory, "thread %s: the system did not start it: %s", options.name,
                 failure == EAGAIN ? "no threads or memory left" : "not permitted")
        .sys(failure);
  start.release();
  thread.handle = static_cast<uint64_t>(id);
  thread.running = true;
  return Status();
}

void join_thread(Thread& thread) {
  if (!thread.running) return;
  if (pthread_equal(static_cast<pthread_t>(thread.handle), pthread_self())) {
    detach_thread(thread);
    return;
  }
  thread.running = false;
  pthread_join(static_cast<pthread_t>(thread.handle), nullptr);
}

void detach_thread(Thread& thread) {
  if (!thread.running) return;
  thread.running = false;
  pthread_detach(static_cast<pthread_t>(thread.handle));
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
          nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr,
          nullptr, 0);
}

void yield_cpu() { sched_yield(); }

int32_t current_cpu() { return sched_getcpu(); }
int32_t current_thread_id() { return static_cast<int32_t>(syscall(SYS_gettid)); }

static_assert(sizeof(CpuSet) == sizeof(cpu_set_t));

bool move_thread_off(int32_t thread_id, const CpuSet& taken, CpuSet& allowed_before) {
  cpu_set_t set;
  if (sched_getaffinity(thread_id, sizeof set, &set) != 0) return false;
  std::memcpy(allowed_before.bits, &set, sizeof set);
  CpuSet rest;
  uint64_t any = 0;
  for (size_t i = 0; i < std::size(rest.bits); ++i)
    any |= rest.bits[i] = allowed_before.bits[i] & ~taken.bits[i];
  if (!any) return false;
  allow_cpus(thread_id, rest);
  return true;
}

void allow_cpus(int32_t thread_id, const CpuSet& cpus) {
  cpu_set_t set;
  std::memcpy(&set, cpus.bits, sizeof set);
  sched_setaffinity(thread_id, sizeof set, &set);
}

}  // namespace llmrt::platform
