// Two small loops of our own, half a second each: a sum over memory larger than any cache, and independent multiply-adds.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "machine.h"

namespace cli {
namespace {

constexpr double kSeconds = 0.5;
constexpr size_t kWords = size_t{8} << 20;  // 64 MiB of uint64_t a thread

#if defined(__x86_64__)
#define LLMRT_WIDEST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LLMRT_WIDEST
#endif

LLMRT_WIDEST uint64_t sum_words(const uint64_t* words, size_t n) {
  uint64_t sum[8] = {};
  for (size_t i = 0; i + 8 <= n; i += 8)
    for (size_t j = 0; j < 8; ++j) sum[j] += words[i + j];
  uint64_t total = 0;
  for (const uint64_t s : sum) total += s;
  return total;
}

constexpr size_t kLanes = 128;  // enough independent chains to hide latency
constexpr size_t kRounds = 20000;

LLMRT_WIDEST float multiply_add(float a, float b) {
  float x[kLanes];
  for (size_t i = 0; i < kLanes; ++i) x[i] = static_cast<float>(i);
  for (size_t r = 0; r < kRounds; ++r)
    for (size_t i = 0; i < kLanes; ++i) x[i] = x[i] * a + b;
  float total = 0;
  for (const float v : x) total += v;
  return total;
}

// Units of work done by all threads within kSeconds, per second. make() gives each thread its state, work(state) does one unit.
template <class Make, class Work>
double rate(int threads, Make make, Work work) {
  std::atomic<bool> go{false}, stop{false};
  std::atomic<int> ready{0};
  std::atomic<uint64_t> units{0};
  std::vector<std::thread> pool;
  pool.reserve(static_cast<size_t>(threads));
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      auto state = make();
      ready.fetch_add(1);
      while (!go.load()) std::this_thread::yield();
      uint64_t done = 0;
      while (!stop.load(std::memory_order_relaxed)) work(state), ++done;
      units.fetch_add(done);
    });
  while (ready.load() < threads) std::this_thread::yield();
  const double begin = seconds_now();
  go.store(true);
  std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
  stop.store(true);
  for (std::thread& t : pool) t.join();
  return static_cast<double>(units.load()) / (seconds_now() - begin);
}

}  // namespace

Roofline measure_roofline(int threads) {
  Roofline result;
  result.threads = std::max(threads, 1);
  std::atomic<uint64_t> sink{0};  // keeps the loops from being left out
  const double sums = rate(
      result.threads, [] { return std::vector<uint64_t>(kWords, 1); },
      [&](const auto& words) { sink += sum_words(words.data(), kWords); });
  result.read_gbps = sums * static_cast<double>(kWords * sizeof(uint64_t)) / 1e9;
  const double rounds = rate(
      result.threads, [] { return 0.999f; }, [&](float a) { sink += multiply_add(a, 1e-3f) > 0; });
  result.gflops = rounds * static_cast<double>(kLanes * kRounds * 2) / 1e9;
  return result;
}

}  // namespace cli
