// The k best logits of a row of a whole vocabulary, in time close to one read of it.
//
//   scan:    block_max[b] = max of logits [256 b, 256 b + 256), and is anything NaN or +inf?       one pass, vectorised
//   best(k): t = k-th largest block_max. At least k logits are >= t, so the k best are; they lie in the few blocks with
//            block_max >= t, which are read once more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/step.h"

namespace llmrt {

class RowSelect {
 public:
  // False if a logit is NaN or +inf. The other functions take the row of the last scan.
  bool scan(std::span<const float> row);
  // The logits of these ids (ascending) have changed since the scan.
  void rescan(std::span<const float> row, std::span<const LogitEdit> changed);

  float max() const;                               // -inf: no candidate
  Token argmax(std::span<const float> row) const;  // lowest id of the largest logit
  // Sorted; fewer than k if fewer are above -inf.
  void best(std::span<const float> row, uint32_t k, std::vector<Candidate>& out);
  // All above -inf, ascending ids.
  void all(std::span<const float> row, std::vector<Candidate>& out) const;

 private:
  std::vector<float> block_max_;
  std::vector<float> order_;
};

}  // namespace llmrt
