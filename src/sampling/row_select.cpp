#include "sampling/row_select.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.h"
#include "graph/logit_blocks.h"

namespace llmrt {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kBlock = RowSelect::kBlock;
constexpr size_t kToldBlocks = kBlock / kLogitBlock;
static_assert(kBlock % kLogitBlock == 0);

// Candidates beyond which a list of the k best is cut back to k.
size_t enough_for(uint32_t k) { return 2 * size_t{k} + kBlock; }

size_t block_size(size_t n, size_t block) { return std::min(kBlock, n - block * kBlock); }

// The k best, the worst of them last. Precondition: 0 < k < size.
void keep_best(std::vector<Candidate>& items, uint32_t k) {
  const auto kth = items.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(items.begin(), kth, items.end(), better);
  items.resize(k);
}

}  // namespace

void RowSelect::reserve(size_t n_row) {
  block_max_.reserve((n_row + kBlock - 1) / kBlock);
  order_.reserve(block_max_.capacity());
}

size_t RowSelect::most_candidates(size_t n_row, uint32_t k) {
  return std::min(n_row, enough_for(k) + kBlock);
}

bool RowSelect::scan(std::span<const float> row, std::span<const float> maxima) {
  LLMRT_ASSERT(maxima.empty() || maxima.size() == n_logit_blocks(row.size()));
  const size_t n_blocks = (row.size() + kBlock - 1) / kBlock;
  block_max_.resize(n_blocks);
  for (size_t b = 0; b < n_blocks; ++b) {
    if (maxima.empty()) {
      block_max_[b] = max_or_infinity(row.data() + b * kBlock, block_size(row.size(), b));
    } else {
      const size_t told = b * kToldBlocks;
      block_max_[b] =
          max_or_infinity(maxima.data() + told, std::min(kToldBlocks, maxima.size() - told));
    }
  }
  return max() < kInfinity;
}

void RowSelect::rescan(std::span<const float> row, std::span<const LogitEdit> changed) {
  size_t last = block_max_.size();
  for (const LogitEdit& edit : changed) {
    const size_t b = static_cast<size_t>(edit.id) / kBlock;
    if (b == last) continue;
    block_max_[b] = max_or_infinity(row.data() + b * kBlock, block_size(row.size(), b));
    last = b;
  }
}

float RowSelect::max() const { return *std::max_element(block_max_.begin(), block_max_.end()); }

Token RowSelect::argmax(std::span<const float> row) const {
  const auto b = static_cast<size_t>(std::max_element(block_max_.begin(), block_max_.end()) -
                                     block_max_.begin());
  const auto begin = row.begin() + static_cast<std::ptrdiff_t>(b * kBlock);
  return static_cast<Token>(
      std::max_element(begin, begin + static_cast<std::ptrdiff_t>(block_size(row.size(), b))) -
      row.begin());
}

// Those of block b that keep() wants. No branch depends on a single logit.
template <class Keep>
void RowSelect::append(std::span<const float> row, size_t b, std::vector<Candidate>& out,
                       Keep keep) {
  const size_t begin = b * kBlock, end = begin + block_size(row.size(), b);
  size_t n = out.size();
  out.resize(n + end - begin);
  for (size_t i = begin; i < end; ++i) {
    out[n] = {static_cast<Token>(i), row[i]};
    n += static_cast<size_t>(keep(row[i]));
  }
  out.resize(n);
}

// A block of which not even the largest logit is kept is not read.
template <class Keep>
void RowSelect::collect(std::span<const float> row, std::vector<Candidate>& out, Keep keep) const {
  out.clear();
  for (size_t b = 0; b < block_max_.size(); ++b)
    if (keep(block_max_[b])) append(row, b, out, keep);
}

void RowSelect::best(std::span<const float> row, uint32_t k, std::vector<Candidate>& out) {
  float threshold = -kInfinity;
  if (k <= block_max_.size() / 2) {
    order_ = block_max_;
    const auto kth = order_.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(order_.begin(), kth, order_.end(), std::greater<float>());
    threshold = *kth;
  }
  threshold = std::max(threshold, -std::numeric_limits<float>::max());
  out.clear();
  for (size_t b = 0; b < block_max_.size(); ++b) {
    if (block_max_[b] < threshold) continue;
    append(row, b, out, [=](float x) { return x >= threshold; });
    if (out.size() > enough_for(k)) {
      keep_best(out, k);
      threshold = out.back().logit;  // the k-th best so far
    }
  }
  if (out.size() > k) keep_best(out, k);
  std::sort(out.begin(), out.end(), better);
}

void RowSelect::within(std::span<const float> row, float difference,
                       std::vector<Candidate>& out) const {
  const float highest = max();
  if (difference == -kInfinity) return all(row, out);
  collect(row, out, [=](float x) { return x - highest >= difference; });
}

void RowSelect::all(std::span<const float> row, std::vector<Candidate>& out) const {
  collect(row, out, [](float x) { return x > -kInfinity; });
}

}  // namespace llmrt
