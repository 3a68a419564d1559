#include "backends/cpu/expert_groups.h"

#include <algorithm>

namespace llmrt::cpu {

void ExpertGroups::reserve(uint32_t n_expert, size_t n_entries) {
  next_.resize(std::max<size_t>(next_.size(), n_expert));
  groups_.reserve(next_.size());
  slot_of_.resize(std::max(slot_of_.size(), n_entries));
  entry_of_.resize(slot_of_.size());
}

void ExpertGroups::sort(const float* routes, size_t stride, uint32_t n_rows, uint32_t n_used,
                        uint32_t n_expert) {
  std::fill_n(next_.begin(), n_expert, 0u);
  for (uint32_t row = 0; row < n_rows; ++row)
    for (uint32_t r = 0; r < n_used; ++r) ++next_[static_cast<uint32_t>(routes[row * stride + r])];
  groups_.clear();
  uint32_t begin = 0;
  for (uint32_t e = 0; e < n_expert; ++e) {
    const uint32_t n = next_[e];
    next_[e] = begin;
    if (n) groups_.push_back({e, begin, n});
    begin += n;
  }
  for (uint32_t row = 0, entry = 0; row < n_rows; ++row)
    for (uint32_t r = 0; r < n_used; ++r, ++entry) {
      const uint32_t slot = next_[static_cast<uint32_t>(routes[row * stride + r])]++;
      slot_of_[entry] = slot;
      entry_of_[slot] = entry;
    }
}

}  // namespace llmrt::cpu
