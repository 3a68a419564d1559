#include "evaluate.h"

#include <algorithm>

namespace cli {

constexpr size_t kBufferFloats = size_t{64} << 20;  // 256 MiB

Evaluator::Evaluator(const Loaded& loaded, const std::string& kv_type, size_t n_tokens) {
  n_vocab_ = static_cast<size_t>(info_of(loaded.model.get()).n_vocab);
  llmrt_engine_options options;
  llmrt_engine_options_init(&options, sizeof options);
  options.kv_type = kv_type.c_str();
  options.ctx_tokens = static_cast<int32_t>(n_tokens);
  options.max_running = 1;
  engine_ = make_engine(loaded, options);
}

void Evaluator::rows(std::span<const int32_t> tokens, size_t first,
                     const std::function<void(size_t, std::span<const float>)>& on_row) {
  const size_t rows_at_once = std::max<size_t>(kBufferFloats / n_vocab_, 1);
  for (size_t begin = first; begin < tokens.size(); begin += rows_at_once) {
    if (interrupted()) throw_interrupted();
    const size_t end = std::min(begin + rows_at_once, tokens.size());
    buffer_.resize((end - begin) * n_vocab_);
    size_t n = 0;
    check(llmrt_evaluate(engine_.get(), tokens.data(), end, begin, buffer_.data(), buffer_.size(),
                         &n));
    for (size_t i = begin; i < end; ++i)
      on_row(i, std::span(buffer_).subspan((i - begin) * n_vocab_, n_vocab_));
  }
}

}  // namespace cli
