#include "base/thread_pool.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

using namespace llmrt;

namespace {
std::unique_ptr<ThreadPool> make_pool(uint32_t n) {
  auto pool = ThreadPool::create({.n_workers = n});
  REQUIRE(pool.ok());
  return std::move(pool).value();
}

// What a thread finds of itself.
struct Self {
  cpu_set_t cpus;
  int nice = 0;
  bool signals_blocked = false;
  std::string name;
  size_t stack_bytes = 0;
};

bool all_signals_blocked() {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return std::ranges::all_of(
      std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE},
      [&](int signal) { return sigismember(&blocked, signal) == 1; });
}

Self look() {
  Self self;
  CPU_ZERO(&self.cpus);
  sched_getaffinity(0, sizeof self.cpus, &self.cpus);
  self.nice = getpriority(PRIO_PROCESS, 0);
  self.signals_blocked = all_signals_blocked();
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  self.name = name;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstacksize(&attributes, &self.stack_bytes);
    pthread_attr_destroy(&attributes);
  }
  return self;
}

// What a worker that is not the caller finds in a chunk.
Self look_on_worker(ThreadPool& pool) {
  Self self;
  std::atomic<bool> seen{false};
  for (int run = 0; run < 5000 && !seen; ++run)
    pool.run(0, 8, [&](uint32_t, uint32_t worker) {
      if (worker == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      else if (!seen.exchange(true))
        self = look();
    });
  REQUIRE(seen);
  return self;
}

// The lowest CPU that this thread may use.
int first_cpu(const cpu_set_t& cpus) {
  int cpu = 0;
  while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &cpus)) ++cpu;
  return cpu;
}

int level_above(int nice, int priority) { return std::min(nice + priority, 19); }

size_t n_threads() {
  size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task"))
    n += !entry.path().empty();
  return n;
}
}  // namespace

TEST_CASE("thread_pool: every chunk runs exactly once, whatever the number of workers") {
  for (const uint32_t n : {1u, 2u, 3u, 8u}) {
    auto pool = make_pool(n);
    CHECK(pool->n_workers() == n);
    for (int round = 0; round < 300; ++round) {
      std::vector<std::atomic<int>> hits(37);
      const uint32_t begin = static_cast<uint32_t>(round % 5);
      CHECK(pool->run(begin, 37, [&](uint32_t chunk, uint32_t worker) {
        REQUIRE(worker < n);
        hits[chunk].fetch_add(1);
      }) == 37);
      for (uint32_t i = 0; i < 37; ++i) REQUIRE(hits[i].load() == (i >= begin ? 1 : 0));
    }
  }
}

TEST_CASE("thread_pool: a passed deadline stops at a chunk border after at least one chunk") {
  auto pool = make_pool(2);
  uint32_t at = 0;
  int runs = 0;
  std::vector<std::atomic<int>> hits(20);
  while (at < 20) {
    const uint32_t reached = pool->run(
        at, 20, [&](uint32_t c, uint32_t) { hits[c].fetch_add(1); }, Deadline::at_once());
    REQUIRE(reached > at);
    for (uint32_t i = 0; i < reached; ++i) REQUIRE(hits[i].load() == 1);
    for (uint32_t i = reached; i < 20; ++i) REQUIRE(hits[i].load() == 0);
    at = reached;
    ++runs;
  }
  CHECK(runs == 20);
}

TEST_CASE("thread_pool: runs from many threads are served one at a time") {
  auto pool = make_pool(2);
  std::atomic<int> inside{0}, worst{0}, sum{0};
  std::vector<std::thread> hosts;
  for (int t = 0; t < 6; ++t)
    hosts.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::atomic<int>* mine = nullptr;
        std::atomic<int> local{0};
        mine = &local;
        pool->run(0, 5, [&](uint32_t, uint32_t) {
          mine->fetch_add(1);
          sum.fetch_add(1);
        });
        if (local.load() != 5) worst.store(1);
      }
    });
  for (auto& h : hosts) h.join();
  CHECK(worst.load() == 0);
  CHECK(inside.load() == 0);
  CHECK(sum.load() == 6 * 200 * 5);
}

TEST_CASE("thread_pool: workers that fell asleep wake up, and resizing keeps the pool usable") {
  auto pool = make_pool(3);
  for (const uint32_t n : {3u, 1u, 4u, 2u}) {
    REQUIRE(pool->resize(n).ok());
    CHECK(pool->n_workers() == n);
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than the idle spin
      std::atomic<int> count{0};
      pool->run(0, 50, [&](uint32_t, uint32_t) { count.fetch_add(1); });
      CHECK(count.load() == 50);
    }
  }
}

TEST_CASE("thread_pool: a worker that woke may run where it might before it slept") {
  auto pool = make_pool(2);
  cpu_set_t host;
  REQUIRE(sched_getaffinity(0, sizeof host, &host) == 0);
  std::atomic<int> by_worker{0}, wrong{0};
  for (int frame = 0; frame < 40; ++frame) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than workers spin
    pool->run(0, 40, [&](uint32_t, uint32_t worker) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      if (worker == 0) return;
      cpu_set_t mine;
      sched_getaffinity(0, sizeof mine, &mine);
      ++by_worker;
      if (!CPU_EQUAL(&mine, &host)) ++wrong;
    });
  }
  CHECK(by_worker.load() > 0);
  CHECK(wrong.load() == 0);
}

TEST_CASE("thread_pool: workers have the mask and the priority, and the caller keeps its own") {
  const Self before = look();
  const int cpu = first_cpu(before.cpus);
  if (cpu >= 64) return;
  auto pool = ThreadPool::create({.n_workers = 2, .cpu_mask = uint64_t{1} << cpu, .priority = 3});
  REQUIRE(pool.ok());
  const Self worker = look_on_worker(**pool);
  CHECK(CPU_COUNT(&worker.cpus) == 1);
  CHECK(CPU_ISSET(cpu, &worker.cpus));
  CHECK(worker.nice == level_above(before.nice, 3));
  const Self after = look();
  CHECK(CPU_EQUAL(&after.cpus, &before.cpus));
  CHECK(after.nice == before.nice);
}

TEST_CASE("thread_pool: a member has the mask and the priority of a worker") {
  const Self before = look();
  const int cpu = first_cpu(before.cpus);
  if (cpu >= 64) return;
  auto pool = ThreadPool::create({.n_workers = 1, .cpu_mask = uint64_t{1} << cpu, .priority = 2});
  REQUIRE(pool.ok());
  std::atomic<int> stage{0};
  Self at_first, later;
  std::thread thread([&] {
    const ThreadPool::Member member(**pool);
    at_first = look();
    stage = 1;
    while (stage == 1) std::this_thread::yield();
    later = look();
  });
  while (stage == 0) std::this_thread::yield();
  const Status raised = (*pool)->set_priority(5);
  stage = 2;
  thread.join();
  CHECK(raised.ok());
  CHECK((*pool)->set_priority(6).ok());  // nobody is left
  CHECK(CPU_COUNT(&at_first.cpus) == 1);
  CHECK(CPU_ISSET(cpu, &at_first.cpus));
  CHECK(at_first.nice == level_above(before.nice, 2));
  CHECK(later.nice == level_above(before.nice, 5));
}

TEST_CASE("thread_pool: the priority changes for the workers of now and later") {
  const int nice = look().nice;
  auto pool = make_pool(2);
  CHECK(look_on_worker(*pool).nice == nice);
  REQUIRE(pool->set_priority(4).ok());
  CHECK(look_on_worker(*pool).nice == level_above(nice, 4));
  REQUIRE(pool->resize(3).ok());
  CHECK(look_on_worker(*pool).nice == level_above(nice, 4));
  CHECK(look().nice == nice);
  const Status lowered = pool->set_priority(1);
  if (lowered.ok()) {  // this process has the right
    CHECK(look_on_worker(*pool).nice == level_above(nice, 1));
    return;
  }
  CHECK(lowered.code() == Code::unsupported);
  CHECK(lowered.message().find("thread_priority is 1: the system does not permit") == 0);
  CHECK(look_on_worker(*pool).nice == level_above(nice, 4));
}

TEST_CASE("thread_pool: workers block signals, have names and room on their stacks") {
  std::atomic<int> n_hooks{0}, n_open{0};
  std::atomic<int>* hooks[] = {&n_hooks, &n_open};
  {
    auto pool = ThreadPool::create({.n_workers = 2,
                                    .thread_hook =
                                        [](void* user, int32_t, int32_t) {
                                          auto** counts = static_cast<std::atomic<int>**>(user);
                                          ++*counts[0];
                                          if (!all_signals_blocked()) ++*counts[1];
                                        },
                                    .user = hooks});
    REQUIRE(pool.ok());
    const Self worker = look_on_worker(**pool);
    CHECK(worker.signals_blocked);
    CHECK(worker.name == "llmrt-1");
    CHECK(worker.stack_bytes >= size_t{256} << 10);
  }
  CHECK(n_hooks == 2);  // first and last of all
  CHECK(n_open == 0);
}

TEST_CASE("thread_pool: one worker is the caller, and no thread of ours exists") {
  // Threads that were joined may still be listed.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const size_t before = n_threads();
  auto pool = make_pool(1);
  int n = 0;
  CHECK(pool->run(0, 5, [&](uint32_t, uint32_t worker) { n += worker == 0; }) == 5);
  CHECK(n == 5);
  CHECK(n_threads() <= before);
}

TEST_CASE("thread_pool: the host's floating-point control word is restored") {
  auto pool = make_pool(2);
  volatile float tiny = 1e-40f;
  const float before = tiny * 0.5f;
  CHECK(before > 0.0f);
  std::atomic<int> flushed{0};
  pool->run(0, 8, [&](uint32_t, uint32_t) {
    volatile float x = 1e-40f;
    if (x * 0.5f == 0.0f) flushed.fetch_add(1);
  });
  CHECK(flushed.load() == 8);
  CHECK(tiny * 0.5f > 0.0f);
}
