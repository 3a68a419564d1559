#include "sampling/step.h"

#include <algorithm>
#include <limits>

namespace llmrt {

void Candidates::sort() {
  if (!sorted) std::sort(items.begin(), items.end(), better);
  sorted = true;
}

std::optional<std::span<const LogitEdit>> SamplingStep::edits(const SampleContext&,
                                                              StepScratch&) const {
  return std::nullopt;
}

// Finite edits of finite logits stay below +inf: a huge logit divided by a small penalty stops at the largest float.
float edited(float logit, const LogitEdit& edit) {
  const float scaled = logit > 0 ? logit / edit.divide : logit * edit.divide;
  return std::min(scaled - edit.subtract, std::numeric_limits<float>::max());
}

void LogitEditStep::apply(Candidates& candidates, const SampleContext& context) const {
  const auto list = edits(context, candidates.scratch);
  if (!list || list->empty()) return;
  for (Candidate& item : candidates.items) {
    const auto it = std::lower_bound(list->begin(), list->end(), item.id,
                                     [](const LogitEdit& e, Token id) { return e.id < id; });
    if (it == list->end() || it->id != item.id) continue;
    item.logit = edited(item.logit, *it);
    candidates.sorted = false;
  }
  std::erase_if(candidates.items, [](const Candidate& c) {
    return c.logit == -std::numeric_limits<float>::infinity();
  });
}

}  // namespace llmrt
