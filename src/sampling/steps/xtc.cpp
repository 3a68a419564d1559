// xtc ("exclude top choices"): with probability xtc_probability, if two or more candidates have at least xtc_threshold, all of them
// but the least likely leave. Whether it acts is a draw of its own random stream, so it changes no noise of the tokens.
#include "sampling/mass.h"
#include "sampling/rng.h"
#include "sampling/step.h"

namespace llmrt {
namespace {

class Xtc : public SamplingStep {
 public:
  Xtc(float probability, float threshold)
      : probability_(probability), share_(static_cast<double>(threshold * kBorder)) {}

  void apply(Candidates& candidates, const SampleContext& context) const override {
    if (uniform(context.seed, context.position, RandomStream::xtc, 0) >= probability_) return;
    auto& items = candidates.items;
    const float max = max_logit(candidates);
    const double least = share_ * static_cast<double>(total_mass(items, max));
    const auto is_top = [&](const Candidate& c) {
      return static_cast<double>(mass_of(c.logit, max)) >= least;
    };
    size_t n_top = 0;
    Candidate last;
    for (const Candidate& item : items) {
      if (!is_top(item)) continue;
      if (n_top == 0 || better(last, item)) last = item;
      ++n_top;
    }
    if (n_top < 2) return;
    std::erase_if(items, [&](const Candidate& c) { return c.id != last.id && is_top(c); });
  }

 private:
  float probability_;
  double share_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_xtc(const StepInit& init) {
  if (init.params.xtc_probability == 0.0f) return std::unique_ptr<SamplingStep>();
  return std::unique_ptr<SamplingStep>(
      new Xtc(init.params.xtc_probability, init.params.xtc_threshold));
}

}  // namespace llmrt
