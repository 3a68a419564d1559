#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/platform/thread.h"

namespace llmrt::platform {
namespace {

struct Start {
  char name[16];
  void (*entry)(void*);
  void* argument;
};

void* run_thread(void* raw) {
  std::unique_ptr<Start> start(static_cast<Start*>(raw));
  pthread_setname_np(pthread_self(), start->name);
  void (*entry)(void*) = start->entry;
  void* argument = start->argument;
  start.reset();
  entry(argument);
  return nullptr;
}

}  // namespace

Status start_thread(Thread& thread, const char* name, void (*entry)(void*), void* argument) {
  auto start = std::make_unique<Start>();
  std::strncpy(start->name, name, sizeof start->name - 1);
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
    return error(Code::out_of_memory, "thread %s: the system did not start it: %s", name,
                 failure == EAGAIN ? "no threads or memory left" : "not permitted")
        .sys(failure);
  static_cast<void>(start.release());  // run_thread owns it
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
  allowed_before = allowed_cpus(thread_id);
  CpuSet rest;
  uint64_t any = 0;
  for (size_t i = 0; i < std::size(rest.bits); ++i)
    any |= rest.bits[i] = allowed_before.bits[i] & ~taken.bits[i];
  if (!any) return false;
  allow_cpus(thread_id, rest);
  return true;
}

CpuSet allowed_cpus(int32_t thread_id) {
  cpu_set_t set;
  CpuSet cpus;
  if (sched_getaffinity(thread_id, sizeof set, &set) == 0) std::memcpy(cpus.bits, &set, sizeof set);
  return cpus;
}

void allow_cpus(int32_t thread_id, const CpuSet& cpus) {
  cpu_set_t set;
  std::memcpy(&set, cpus.bits, sizeof set);
  sched_setaffinity(thread_id, sizeof set, &set);
}

int32_t nice_level(int32_t thread_id) {
  return getpriority(PRIO_PROCESS, static_cast<id_t>(thread_id));
}

int32_t set_nice_level(int32_t thread_id, int32_t level) {
  return setpriority(PRIO_PROCESS, static_cast<id_t>(thread_id), level) == 0 ? 0 : errno;
}

int32_t least_nice_level() {
  rlimit limit;
  if (getrlimit(RLIMIT_NICE, &limit) != 0) return 20;
  return 20 - static_cast<int32_t>(std::min<rlim_t>(limit.rlim_cur, 40));
}

}  // namespace llmrt::platform
