// penalties, over the window of the last penalty_last_n tokens of prompt and answer together (-1: all of them):
//
//   l' = (l > 0 ? l / repeat : l * repeat) - n frequency - presence      for each distinct token of the window, n = its count there
//
// Repeat is from Keskar et al., CTRL (arXiv:1909.05858), with the sign rule that makes it lower negative logits too; once per distinct
// token, however often it occurs.
#include <algorithm>

#include "sampling/step.h"

namespace llmrt {
namespace {

class Penalties : public LogitEditStep {
 public:
  Penalties(const SamplingParams& params, uint32_t n_vocab)
      : last_n_(params.penalty_last_n),
        repeat_(params.repeat_penalty),
        frequency_(params.frequency_penalty),
        presence_(params.presence_penalty),
        n_vocab_(n_vocab) {}

  std::optional<std::span<const LogitEdit>> edits(const SampleContext& context,
                                                  StepScratch& scratch) const override {
    const size_t n_history = context.history.size();
    const size_t n_window =
        last_n_ < 0 ? n_history : std::min(n_history, static_cast<size_t>(last_n_));
    const auto window = context.history.last(n_window);
    scratch.tokens.assign(window.begin(), window.end());
    std::sort(scratch.tokens.begin(), scratch.tokens.end());
    scratch.edits.clear();
    for (size_t i = 0; i < n_window;) {
      const Token id = scratch.tokens[i];
      size_t end = i;
      while (end < n_window && scratch.tokens[end] == id) ++end;
      const auto count = static_cast<float>(end - i);
      i = end;
      if (id < 0 || static_cast<uint32_t>(id) >= n_vocab_) continue;  // placeholders of media
      scratch.edits.push_back({id, repeat_, count * frequency_ + presence_});
    }
    return scratch.edits;
  }

  void reserve(StepScratch& scratch, size_t n_history) const override {
    const size_t n = last_n_ < 0 ? n_history : std::min(n_history, static_cast<size_t>(last_n_));
    scratch.tokens.reserve(n);
    scratch.edits.reserve(n);
  }

 private:
  int32_t last_n_;
  float repeat_, frequency_, presence_;
  uint32_t n_vocab_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_penalties(const StepInit& init) {
  const SamplingParams& p = init.params;
  const bool neutral =
      p.repeat_penalty == 1.0f && p.frequency_penalty == 0.0f && p.presence_penalty == 0.0f;
  if (neutral || p.penalty_last_n == 0) return std::unique_ptr<SamplingStep>();
  return std::unique_ptr<SamplingStep>(new Penalties(p, init.n_vocab));
}

}  // namespace llmrt
