// top_p (Holtzman et al., arXiv:1904.09751): the smallest set of best candidates whose probability reaches p; at least one.
#include "sampling/mass.h"
#include "sampling/step.h"

namespace llmrt {
namespace {

class TopP : public SamplingStep {
 public:
  explicit TopP(float p) : share_(static_cast<double>(p * kBorder)) {}
  RowRule row_rule() const override { return {.share = share_}; }

  void apply(Candidates& candidates, const SampleContext&) const override {
    const float max = max_logit(candidates);
    const auto below_max = [=](const Candidate& c) { return max - c.logit; };
    keep_mass(candidates.items, candidates.sorted, max, share_, below_max, better);
  }

 private:
  double share_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_top_p(const StepInit& init) {
  if (init.params.top_p >= 1.0f) return std::unique_ptr<SamplingStep>();
  return std::unique_ptr<SamplingStep>(new TopP(init.params.top_p));
}

}  // namespace llmrt
