// min_p (Nguyen et al., arXiv:2407.01082): candidates with at least min_p times the best one's probability; border as in mass.h.
#include "base/math.h"
#include "sampling/mass.h"
#include "sampling/step.h"

namespace llmrt {
namespace {

class MinP : public SamplingStep {
 public:
  explicit MinP(float min_p) : min_difference_(log_f32(min_p * kBorder)) {}
  RowRule row_rule() const override { return {.within = min_difference_}; }

  void apply(Candidates& candidates, const SampleContext&) const override {
    const float max = max_logit(candidates);
    std::erase_if(candidates.items,
                  [&](const Candidate& c) { return c.logit - max < min_difference_; });
  }

 private:
  float min_difference_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_min_p(const StepInit& init) {
  if (init.params.min_p <= 0.0f) return std::unique_ptr<SamplingStep>();
  return std::unique_ptr<SamplingStep>(new MinP(init.params.min_p));
}

}  // namespace llmrt
