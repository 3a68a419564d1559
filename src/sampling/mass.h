// Probabilities of candidates as integers, so that a sum does not depend on the order of its terms:
//
//   mass(l) = floor(e^(l - max) 2^40),   p = mass / total mass,   total < 2^63 for up to 2^22 candidates
//
// A cut that compares a mass with a share of the total counts it as reached from 1 - 1e-6 of that share on: probabilities that lie on
// the border in exact arithmetic (0.5 + 0.25 and top_p 0.75) must not fall to the rounding of float logits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/mass_exp.h"
#include "sampling/step.h"

namespace llmrt {

inline constexpr float kBorder = 1.0f - 1e-6f;
inline constexpr size_t kMassBlock = 256;  // masses taken at a time, on the stack

inline uint64_t mass_of(float logit, float max) {
  return static_cast<uint64_t>(static_cast<int64_t>(exp_below_zero(logit - max) * kMassOne));
}

float max_logit(const Candidates& candidates);
uint64_t total_mass(std::span<const Candidate> items, float max);
uint64_t total_mass(std::span<const float> row, float max);  // -inf logits have none

void masses(std::span<const Candidate> items, float max, uint64_t* out);

// Keeps the smallest prefix in the order of `before` whose mass reaches `target`, at least one candidate, in any order unless the list
// is in that order already. key(c) >= 0 never falls along that order: candidates are counted into buckets of it, so that only those of
// the bucket in which the prefix ends are sorted. O(n), unless many share a bucket.
template <class Key, class Before>
void keep_target_mass(std::vector<Candidate>& items, bool in_order, float max, double target,
                      Key key, Before before) {
  uint64_t mass = 0;
  size_t border = 0;  // items before it stay
  if (!in_order) {
    constexpr size_t kBuckets = 1024;  // of 1/32 each; the last takes the rest
    const auto bucket_of = [&](const Candidate& c) {
      return std::min(static_cast<size_t>(std::min(key(c), 1000.0f) * 32.0f), kBuckets - 1);
    };
    uint64_t bucket_mass[kBuckets] = {};
    uint64_t block[kMassBlock];
    for (size_t begin = 0; begin < items.size(); begin += kMassBlock) {
      const size_t n = std::min(kMassBlock, items.size() - begin);
      masses(std::span(items).subspan(begin, n), max, block);
      for (size_t i = 0; i < n; ++i) bucket_mass[bucket_of(items[begin + i])] += block[i];
    }
    size_t last = 0;
    while (last + 1 < kBuckets && static_cast<double>(mass + bucket_mass[last]) < target)
      mass += bucket_mass[last++];
    std::erase_if(items, [&](const Candidate& c) { return bucket_of(c) > last; });
    const auto middle = std::partition(items.begin(), items.end(),
                                       [&](const Candidate& c) { return bucket_of(c) < last; });
    std::sort(middle, items.end(), before);
    border = static_cast<size_t>(middle - items.begin());
  }
  for (size_t i = border; i < items.size(); ++i) {
    mass += mass_of(items[i].logit, max);
    if (static_cast<double>(mass) >= target) {
      items.resize(i + 1);
      return;
    }
  }
}

// The prefix that reaches `share` of the mass of all items.
template <class Key, class Before>
void keep_mass(std::vector<Candidate>& items, bool in_order, float max, double share, Key key,
               Before before) {
  const double target = share * static_cast<double>(total_mass(items, max));
  keep_target_mass(items, in_order, max, target, key, before);
}

}  // namespace llmrt
