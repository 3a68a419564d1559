#include "engine/pass_times.h"

#include <algorithm>

#include "engine/limits.h"

namespace llmrt {
namespace {

constexpr double kMixedPassNs = 25e6;
constexpr double kMixedPassDecodes = 2;
constexpr double kLeastRows = 1, kMostRows = limits::kMostRows;
constexpr uint32_t kUnknownRows = 16;

void mix(double& mean, double value) { mean = mean == 0 ? value : 0.75 * mean + 0.25 * value; }

}  // namespace

void PassTimes::record(uint32_t n_rows, uint32_t n_decodes, int64_t busy_ns) {
  const double busy = static_cast<double>(busy_ns);
  if (n_decodes == n_rows) return mix(decode_ns_, busy);
  const uint32_t n_prompt = n_rows - n_decodes;
  const double decodes = n_decodes > 0 ? decode_ns_ : 0;
  // never less than its share: the decoding rows of this pass may have been cheaper than the mean
  mix(row_ns_, std::max((busy - decodes) / n_prompt, 0.5 * busy / n_rows));
}

uint32_t PassTimes::prompt_rows_beside_decodes() const {
  if (row_ns_ == 0) return kUnknownRows;
  const double target = std::max(kMixedPassNs, kMixedPassDecodes * decode_ns_);
  return static_cast<uint32_t>(std::clamp((target - decode_ns_) / row_ns_, kLeastRows, kMostRows));
}

}  // namespace llmrt
