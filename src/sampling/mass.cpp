#include "sampling/mass.h"

#include "sampling/row_kernels.h"

namespace llmrt {
namespace {

void block_masses(const float* logits, size_t n, float max, uint64_t* out) {
  float e[kMassBlock];
  for (size_t i = 0; i < n; ++i) e[i] = exp_below_zero(logits[i] - max) * kMassOne;
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint64_t>(static_cast<int64_t>(e[i]));
}

}  // namespace

float max_logit(const Candidates& candidates) {
  const auto& items = candidates.items;
  if (candidates.sorted) return items.front().logit;
  return std::max_element(items.begin(), items.end(),
                          [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; })
      ->logit;
}

void masses(std::span<const Candidate> items, float max, uint64_t* out) {
  float logits[kMassBlock];
  for (size_t begin = 0; begin < items.size(); begin += kMassBlock) {
    const size_t n = std::min(kMassBlock, items.size() - begin);
    for (size_t i = 0; i < n; ++i) logits[i] = items[begin + i].logit;
    block_masses(logits, n, max, out + begin);
  }
}

uint64_t total_mass(std::span<const Candidate> items, float max) {
  float logits[kMassBlock];
  uint64_t sum = 0;
  for (size_t begin = 0; begin < items.size(); begin += kMassBlock) {
    const size_t n = std::min(kMassBlock, items.size() - begin);
    for (size_t i = 0; i < n; ++i) logits[i] = items[begin + i].logit;
    sum += row_kernels().total_mass(logits, n, max);
  }
  return sum;
}

uint64_t total_mass(std::span<const float> row, float max) {
  return row_kernels().total_mass(row.data(), row.size(), max);
}

}  // namespace llmrt
