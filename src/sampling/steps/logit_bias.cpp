// logit_bias: l' = l + bias. A bias of -100 or less bans: whoever writes it means that, whatever the logits' size.
#include <algorithm>
#include <limits>

#include "sampling/step.h"

namespace llmrt {
namespace {

constexpr float kBan = -100.0f;

class LogitBias : public LogitEditStep {
 public:
  explicit LogitBias(std::vector<LogitEdit> list) : list_(std::move(list)) {}
  std::optional<std::span<const LogitEdit>> edits(const SampleContext&,
                                                  StepScratch&) const override {
    return list_;
  }

 private:
  std::vector<LogitEdit> list_;
};

}  // namespace

Result<std::unique_ptr<SamplingStep>> make_logit_bias(const StepInit& init) {
  if (init.params.logit_bias.empty()) return std::unique_ptr<SamplingStep>();
  auto bias = init.params.logit_bias;
  std::stable_sort(bias.begin(), bias.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<LogitEdit> list;
  for (const auto& [id, value] : bias) {
    if (list.empty() || list.back().id != id) list.push_back({id, 1.0f, 0.0f});
    list.back().subtract -= value;
  }
  for (LogitEdit& edit : list) {
    if (-edit.subtract <= kBan) edit.subtract = std::numeric_limits<float>::infinity();
    edit.subtract = std::max(edit.subtract, -std::numeric_limits<float>::max());
  }
  return std::unique_ptr<SamplingStep>(new LogitBias(std::move(list)));
}

}  // namespace llmrt
