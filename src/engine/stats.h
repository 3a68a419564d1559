// Stats: what the engine measured. Latencies are histograms over the last 60 seconds: 12 slices of 5 s, each with buckets a factor
// 2^(1/4) wide from 1 us on, so a percentile is within 9 % of the value and recording costs one log2 by table of bits.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "engine/engine.h"

namespace llmrt {

inline constexpr int64_t kStatsSliceNs = 5'000'000'000;
inline constexpr uint32_t kStatsSlices = 12;

class WindowHistogram {
 public:
  static constexpr uint32_t kBuckets = 160;  // up to 2^40 us
  void record(int64_t now_ns, int64_t value_ns);
  // P50, P95, P99 in milliseconds over the slices that are younger than 60 s; 0 if there are none.
  void percentiles(int64_t now_ns, double out[3]) const;

 private:
  struct Slice {
    int64_t number = -1;  // now / slice length
    std::array<uint32_t, kBuckets> n{};
  };
  std::array<Slice, kStatsSlices> slices_;
};

// Sums and largest values over the last 60 seconds. Values are not negative.
class WindowSum {
 public:
  void add(int64_t now_ns, double value);
  double sum(int64_t now_ns) const;
  double peak(int64_t now_ns) const;  // 0: there are none

 private:
  std::array<int64_t, kStatsSlices> number_{};
  std::array<double, kStatsSlices> sum_{}, peak_{};
};

// Finished lengths, for "how much will this one add yet": the mean of what was longer than it is now.
class LengthModel {
 public:
  void record(uint32_t n_generated);
  uint32_t expected_left(uint32_t n_generated, uint32_t most_left) const;

 private:
  static constexpr uint32_t kBuckets = 48;  // half octaves
  static uint32_t bucket(uint32_t n);
  std::array<uint32_t, kBuckets> n_{};
  std::array<uint64_t, kBuckets> sum_{};
};

// Written by the owner, read by metrics() on any thread.
struct Stats {
  mutable std::mutex mutex;
  WindowHistogram ttft, itl, queue, e2e;
  WindowSum requests, prefill_rows, decode_rows, prefill_s, decode_s, busy_s, steps;
  WindowSum batch;  // rows of a pass
  int64_t started_ns = 0;
  EngineMetrics totals;  // counters that only grow, and gauges as of the last step

  EngineMetrics snapshot(int64_t now_ns) const;
};

}  // namespace llmrt
