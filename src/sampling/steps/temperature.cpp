// temperature: l' = (l - max) / T. Taking the maximum away first keeps every quotient at or below 0, however small T is.
// T = 0, and a T that flushing makes 0, is the chain's greedy path.
#include <algorithm>
#include <limits>

#include "sampling/mass.h"
#include "sampling/params.h"
#include "sampling/step.h"

namespace llmrt {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::max();  // candidates are finite

class Temperature : public SamplingStep {
 public:
  explicit Temperature(float temperature) : temperature_(temperature) {}

  void apply(Candidates& candidates, const SampleContext&) const override {
    const float max = max_logit(candidates);
    for (Candidate& item : candidates.items)
      item.logit = std::max((item.logit - max) / temperature_, kLowest);
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
