// The k best logits of a row of a whole vocabulary, in time close to one read of it.
//
//   scan:    block_max[b] = max of logits [256 b, 256 b + 256), and is anything NaN or +inf?       one pass, vectorised, and none
//            where the backend has told the maxima of smaller blocks (graph/logit_blocks.h)
//   best(k): t = k-th largest block_max. At least k logits are >= t, so the k best are; they lie in the few blocks with
//            block_max >= t, which are read once more. Of long lists of ties only what can still be among the k best is kept, so
//            that the list's memory has a bound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sampling/step.h"

namespace llmrt {

class RowSelect {
 public:
  // 262,144 logits make 1,024 blocks: selecting among them costs as much as reading a few dozen
  static constexpr size_t kBlock = 256;

  // Takes the memory for rows of n_row logits.
  void reserve(size_t n_row);
  // Most candidates that best(k) of a row of n_row logits ever has in its list.
  static size_t most_candidates(size_t n_row, uint32_t k);
  // False if a logit is NaN or +inf. The other functions take the row of the last scan. maxima: [n_logit_blocks(row.size())] of this
  // row, or empty.
  bool scan(std::span<const float> row, std::span<const float> maxima = {});
  // The logits of these ids (ascending) have changed since the scan.
  void rescan(std::span<const float> row, std::span<const LogitEdit> changed);

  float max() const;                               // -inf: no candidate
  Token argmax(std::span<const float> row) const;  // lowest id of the largest logit
  // Sorted; fewer than k if fewer are above -inf.
  void best(std::span<const float> row, uint32_t k, std::vector<Candidate>& out);
  // Those with logit - max() >= difference, ascending ids.
  void within(std::span<const float> row, float difference, std::vector<Candidate>& out) const;
  // All above -inf, ascending ids.
  void all(std::span<const float> row, std::vector<Candidate>& out) const;

  std::span<const float> block_maxima() const { return block_max_; }

 private:
  // Those that keep() wants, which wants whatever is larger than one that it wants; ascending ids.
  template <class Keep>
  void collect(std::span<const float> row, std::vector<Candidate>& out, Keep keep) const;
  template <class Keep>
  static void append(std::span<const float> row, size_t b, std::vector<Candidate>& out, Keep keep);

  std::vector<float> block_max_;
  std::vector<float> order_;
};

}  // namespace llmrt
