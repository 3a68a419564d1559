#include "sampling/row_select.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

namespace llmrt {
namespace {

// 262,144 logits make 1,024 blocks: selecting among them costs as much as reading a few dozen
constexpr size_t kBlock = 256;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Four lanes of the baseline vector unit, whatever it is: a portable extension of g++ and clang++. Plain loops over floats do not
// vectorise here, since comparisons may trap.
using Floats = float __attribute__((vector_size(16)));
using Masks = int32_t __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;
constexpr size_t kChains = 4;  // independent maxima hide the latency of one

struct BlockScan {
  float max;
  bool finite;  // no NaN, no +inf
};

BlockScan scan_block(const float* x, size_t n) {
  Floats max[kChains];
  Masks good[kChains];
  for (size_t c = 0; c < kChains; ++c) {
    max[c] = Floats{-kInfinity, -kInfinity, -kInfinity, -kInfinity};
    good[c] = Masks{-1, -1, -1, -1};
  }
  const Floats inf = {kInfinity, kInfinity, kInfinity, kInfinity};
  size_t i = 0;
  for (; i + kLanes * kChains <= n; i += kLanes * kChains) {
    for (size_t c = 0; c < kChains; ++c) {
      Floats v;
      std::memcpy(&v, x + i + c * kLanes, sizeof(v));
      max[c] = v > max[c] ? v : max[c];
      good[c] &= v < inf;
    }
  }
  BlockScan out{-kInfinity, true};
  for (size_t c = 0; c < kChains; ++c) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      out.max = std::max(out.max, max[c][lane]);
      out.finite = out.finite && good[c][lane] != 0;
    }
  }
  for (; i < n; ++i) {
    out.max = x[i] > out.max ? x[i] : out.max;
    out.finite = out.finite && x[i] < kInfinity;
  }
  return out;
}

size_t block_size(size_t n, size_t block) { return std::min(kBlock, n - block * kBlock); }

}  // namespace

bool RowSelect::scan(std::span<const float> row) {
  const size_t n_blocks = (row.size() + kBlock - 1) / kBlock;
  block_max_.resize(n_blocks);
  bool finite = true;
  for (size_t b = 0; b < n_blocks; ++b) {
    const BlockScan block = scan_block(row.data() + b * kBlock, block_size(row.size(), b));
    block_max_[b] = block.max;
    finite = finite && block.finite;
  }
  return finite;
}

void RowSelect::rescan(std::span<const float> row, std::span<const LogitEdit> changed) {
  size_t last = block_max_.size();
  for (const LogitEdit& edit : changed) {
    const size_t b = static_cast<size_t>(edit.id) / kBlock;
    if (b == last) continue;
    block_max_[b] = scan_block(row.data() + b * kBlock, block_size(row.size(), b)).max;
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

void RowSelect::best(std::span<const float> row, uint32_t k, std::vector<Candidate>& out) {
  out.clear();
  float threshold = -kInfinity;
  if (k <= block_max_.size() / 2) {
    order_ = block_max_;
    const auto kth = order_.begin() + static_cast<std::ptrdiff_t>(k - 1);
    std::nth_element(order_.begin(), kth, order_.end(), std::greater<float>());
    threshold = *kth;
  }
  threshold = std::max(threshold, -std::numeric_limits<float>::max());
  for (size_t b = 0; b < block_max_.size(); ++b) {
    if (block_max_[b] < threshold) continue;
    const size_t end = b * kBlock + block_size(row.size(), b);
    for (size_t i = b * kBlock; i < end; ++i) {
      if (row[i] >= threshold) out.push_back({static_cast<Token>(i), row[i]});
    }
  }
  if (out.size() > k) {
    const auto kth = out.begin() + static_cast<std::ptrdiff_t>(k);
    std::nth_element(out.begin(), kth, out.end(), better);
    out.resize(k);
  }
  std::sort(out.begin(), out.end(), better);
}

void RowSelect::all(std::span<const float> row, std::vector<Candidate>& out) const {
  out.resize(row.size());
  size_t n = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    out[n] = {static_cast<Token>(i), row[i]};
    n += static_cast<size_t>(row[i] > -kInfinity);
  }
  out.resize(n);
}

}  // namespace llmrt
