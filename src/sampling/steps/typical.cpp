// typical (Meister et al., arXiv:2202.00666): candidates whose surprise -log p is closest to its mean H, the entropy, until their
// probability reaches typical_p; at least one. Of equally close ones the lower ids stay.
#include <cmath>

#include "base/math.h"
#include "sampling/mass.h"
#include "sampling/step.h"

namespace llmrt {
namespace {

// sum over candidates of mass * (max - l), in units of 1 / 2^40: an integer sum, for the reason given in mass.h.
double surprise_above_max(std::span<const Candidate> items, float max) {
  uint64_t sum = 0;
  for (const Candidate& item : items) {
    const float below = std::min(max - item.logit, 100.0f);  // beyond, the mass is 0
    sum += static_cast<uint64_t>(static_cast<int64_t>(exp_below_zero(-below) * below * kMassOne));
  }
  return static_cast<double>(sum);
}

class Typical : public SamplingStep {
 public:
  explicit Typical(float p) : share_(static_cast<double>(p * kBorder)) {}

  void apply(Candidates& candidates, const SampleContext&) const override {
    const float max = max_logit(candidates);
    const auto total = static_cast<double>(total_mass(candidates.items, max));
    // -log p = (max - l) + log Z and H = mean of that, so -log p - H = (max - l) - mean(max - l): log Z is not needed.
    const auto mean = static_cast<float>(surprise_above_max(candidates.items, max) / total);
    const auto distance = [=](const Candidate& c) { return std::fabs((max - c.logit) - mean); };
    const auto closer = [=](const Candidate& a, const Candidate& b) {
      const float da = distance(a), db = distance(b);
      return da < db || (da == db && a.id < b.id);
    };
    keep_mass(candidates.items, false, max, share_, distance, closer);
    candidates.sorted = false;
  }

 private:
  double share_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_typical(const StepInit& init) {
  if (init.params.typical_p >= 1.0f) return std::unique_ptr<SamplingStep>();
  return std::unique_ptr<SamplingStep>(new Typical(init.params.typical_p));
}

}  // namespace llmrt
