#include "base/thread_pool.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace llmrt;

namespace {
std::unique_ptr<ThreadPool> make_pool(uint32_t n) {
  auto pool = ThreadPool::create({.n_workers = n});
  REQUIRE(pool.ok());
  return std::move(pool).value();
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
