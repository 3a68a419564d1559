// The steps there are, in the order of the default chain. A new one: steps/<name>.cpp with a make_<name>, and its line here.
#include "sampling/step.h"

#define LLMRT_SAMPLING_STEPS(X) \
  X(logit_bias)                 \
  X(penalties)                  \
  X(dry)                        \
  X(top_k)                      \
  X(typical)                    \
  X(top_p)                      \
  X(min_p)                      \
  X(xtc)                        \
  X(temperature)

namespace llmrt {

#define LLMRT_DECLARE(name) Result<std::unique_ptr<SamplingStep>> make_##name(const StepInit& init);
LLMRT_SAMPLING_STEPS(LLMRT_DECLARE)

std::span<const StepFactory> all_sampling_steps() {
#define LLMRT_ENTRY(name) {#name, make_##name},
  static constexpr StepFactory kSteps[] = {LLMRT_SAMPLING_STEPS(LLMRT_ENTRY)};
  return kSteps;
}

}  // namespace llmrt
