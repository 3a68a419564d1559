#include "engine/stats.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace llmrt {
namespace {

// 4 * log2(us), from the position of the top bit and the two bits below it.
uint32_t quarter_octave(int64_t us) {
  const auto v = static_cast<uint64_t>(std::max<int64_t>(us, 1));
  const auto top = static_cast<uint32_t>(std::bit_width(v) - 1);
  const uint64_t below = top >= 2 ? (v >> (top - 2)) & 3 : (v << (2 - top)) & 3;
  return std::min(4 * top + static_cast<uint32_t>(below), WindowHistogram::kBuckets - 1);
}
// middle of a bucket, in us
double bucket_value(uint32_t b) {
  const double low = std::ldexp(1.0 + (b % 4) / 4.0, static_cast<int>(b / 4));
  return low * (1.0 + 0.5 / (4.0 + b % 4));
}

}  // namespace

void WindowHistogram::record(int64_t now_ns, int64_t value_ns) {
  const int64_t number = now_ns / kStatsSliceNs;
  Slice& slice = slices_[static_cast<size_t>(number % kStatsSlices)];
  if (slice.number != number) {
    slice.number = number;
    slice.n.fill(0);
  }
  ++slice.n[quarter_octave(value_ns / 1000)];
}

void WindowHistogram::percentiles(int64_t now_ns, double out[3]) const {
  const int64_t number = now_ns / kStatsSliceNs;
  std::array<uint64_t, kBuckets> n{};
  uint64_t total = 0;
  for (const Slice& slice : slices_) {
    if (slice.number < 0 || number - slice.number >= kStatsSlices) continue;
    for (uint32_t b = 0; b < kBuckets; ++b) {
      n[b] += slice.n[b];
      total += slice.n[b];
    }
  }
  const uint64_t share[3] = {50, 95, 99};
  for (int i = 0; i < 3; ++i) {
    out[i] = 0;
    if (total == 0) continue;
    const uint64_t rank =
        (total * share[i] + 99) / 100;  // smallest value with at least that share at or below it
    uint64_t seen = 0;
    for (uint32_t b = 0; b < kBuckets; ++b) {
      seen += n[b];
      if (seen >= rank) {
        out[i] = bucket_value(b) / 1000.0;
        break;
      }
    }
  }
}

void WindowSum::add(int64_t now_ns, double value) {
  const int64_t number = now_ns / kStatsSliceNs;
  const auto i = static_cast<size_t>(number % kStatsSlices);
  if (number_[i] != number) {
    number_[i] = number;
    sum_[i] = peak_[i] = 0;
  }
  sum_[i] += value;
  peak_[i] = std::max(peak_[i], value);
}

double WindowSum::sum(int64_t now_ns) const {
  const int64_t number = now_ns / kStatsSliceNs;
  double total = 0;
  for (size_t i = 0; i < kStatsSlices; ++i) {
    if (number - number_[i] < kStatsSlices) total += sum_[i];
  }
  return total;
}

double WindowSum::peak(int64_t now_ns) const {
  const int64_t number = now_ns / kStatsSliceNs;
  double most = 0;
  for (size_t i = 0; i < kStatsSlices; ++i) {
    if (number - number_[i] < kStatsSlices) most = std::max(most, peak_[i]);
  }
  return most;
}

uint32_t LengthModel::bucket(uint32_t n) {
  const uint32_t v = std::max(n, 1u);
  const auto top = static_cast<uint32_t>(std::bit_width(v) - 1);
  const uint32_t half = top >= 1 ? (v >> (top - 1)) & 1 : 0;
  return std::min(2 * top + half, kBuckets - 1);
}

void LengthModel::record(uint32_t n_generated) {
  const uint32_t b = bucket(n_generated);
  ++n_[b];
  sum_[b] += n_generated;
}

uint32_t LengthModel::expected_left(uint32_t n_generated, uint32_t most_left) const {
  uint64_t n = 0, sum = 0;
  for (uint32_t b = bucket(n_generated) + 1; b < kBuckets; ++b) {
    n += n_[b];
    sum += sum_[b];
  }
  if (n < 8) return static_cast<uint32_t>(uint64_t{most_left} * 6 / 10);  // too little seen
  const uint64_t mean = sum / n;
  return static_cast<uint32_t>(
      std::min<uint64_t>(most_left, mean - std::min<uint64_t>(mean, n_generated)));
}

EngineMetrics Stats::snapshot(int64_t now_ns) const {
  const std::lock_guard lock(mutex);
  EngineMetrics m = totals;
  ttft.percentiles(now_ns, m.ttft_ms);
  itl.percentiles(now_ns, m.itl_ms);
  queue.percentiles(now_ns, m.queue_ms);
  e2e.percentiles(now_ns, m.e2e_ms);
  // the oldest slice is partly outside: the window is what its 12 slices cover, at most the engine's age
  const int64_t covered =
      now_ns - std::max(started_ns, (now_ns / kStatsSliceNs - (kStatsSlices - 1)) * kStatsSliceNs);
  const double window_s = std::max(static_cast<double>(covered) * 1e-9, 1e-3);
  const double busy = busy_s.sum(now_ns);
  m.requests_per_s = requests.sum(now_ns) / window_s;
  m.busy_share = std::min(1.0, busy / window_s);
  // a pass's time belongs to its rows alike: rates are per second of the passes that held such rows
  const auto rate = [&](const WindowSum& rows, const WindowSum& seconds) {
    const double s = seconds.sum(now_ns);
    return s > 0 ? rows.sum(now_ns) / s : 0.0;
  };
  m.prefill_tps = rate(prefill_rows, prefill_s);
  m.decode_tps = rate(decode_rows, decode_s);
  const double n_steps = steps.sum(now_ns);
  m.batch_mean = n_steps > 0 ? batch.sum(now_ns) / n_steps : 0;
  m.batch_peak = static_cast<int32_t>(batch.peak(now_ns));
  return m;
}

}  // namespace llmrt
