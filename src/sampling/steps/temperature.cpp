// temperature: l' = (l - max) / T. T = 0, and a T that flushing makes 0, is the chain's greedy path.
#include "sampling/mass.h"
#include "sampling/params.h"
#include "sampling/step.h"

namespace llmrt {
namespace {

class Temperature : public SamplingStep {
 public:
  explicit Temperature(float temperature) : temperature_(temperature) {}
  RowRule row_rule() const override { return {.temperature = temperature_}; }

  void apply(Candidates& candidates, const SampleContext&) const override {
    const float max = max_logit(candidates);
    for (Candidate& item : candidates.items) item.logit = cooled(item.logit, max, temperature_);
    // different logits may round to equal ones, whose ids need not ascend
    candidates.sorted = false;
  }

 private:
  float temperature_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_temperature(const StepInit& init) {
  const float temperature = init.params.temperature;
  if (is_greedy(temperature) || temperature == 1.0f) return std::unique_ptr<SamplingStep>();
  return std::unique_ptr<SamplingStep>(new Temperature(temperature));
}

}  // namespace llmrt
