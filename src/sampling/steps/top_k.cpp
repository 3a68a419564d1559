// top_k: the k best candidates; of equal logits the lower ids stay.
#include <algorithm>

#include "sampling/step.h"

namespace llmrt {
namespace {

class TopK : public SamplingStep {
 public:
  explicit TopK(uint32_t k) : k_(k) {}
  RowRule row_rule() const override { return {.best = k_}; }

  void apply(Candidates& candidates, const SampleContext&) const override {
    auto& items = candidates.items;
    if (items.size() > k_) {
      if (!candidates.sorted)
        std::nth_element(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(k_),
                         items.end(), better);
      items.resize(k_);
    }
    candidates.sort();
  }

 private:
  uint32_t k_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_top_k(const StepInit& init) {
  if (init.params.top_k <= 0 || static_cast<uint32_t>(init.params.top_k) >= init.n_vocab)
    return std::unique_ptr<SamplingStep>();
  return std::unique_ptr<SamplingStep>(new TopK(static_cast<uint32_t>(init.params.top_k)));
}

}  // namespace llmrt
