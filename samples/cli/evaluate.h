// Logits of many positions, a bounded number of rows in memory at a time.
#pragma once

#include <functional>
#include <span>

#include "options.h"

namespace cli {

class Evaluator {
 public:
  // For sequences of up to n_tokens.
  Evaluator(const Loaded& loaded, const std::string& kv_type, size_t n_tokens);
  // Calls on_row(position, logits) for positions first .. n - 1 in order.
  void rows(std::span<const int32_t> tokens, size_t first,
            const std::function<void(size_t, std::span<const float>)>& on_row);
  size_t n_vocab() const { return n_vocab_; }

 private:
  size_t n_vocab_ = 0;
  Owned<llmrt_engine> engine_;
  std::vector<float> buffer_;
};

}  // namespace cli
