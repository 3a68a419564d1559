// CHOOSE: one draw per wanted row. A draw depends on the row's logits, the request's options, its seed and the position only. The
// host's hook edits a copy, so log probabilities can be the model's.
#include <new>

#include "base/plant.h"
#include "engine/step_engine.h"

namespace llmrt {

void StepEngine::choose() {
  choices_.clear();
  uint32_t out = 0;
  for (size_t i = 0; i < pass_.runs.size(); ++i) {
    const PlanRun& run = pass_.runs[i];
    if (run.want == RowWant::all) out += run.count;
    if (run.want != RowWant::last) continue;
    Sequence& sequence = *pass_.sequences[i];
    const uint32_t row = out++;
    const std::span<const float> logits = runner_->logits(row), maxima = runner_->logit_maxima(row);
    choose_for(sequence, logits, maxima);
    if (sequence.request->params.n == 1 || sequence.n_generated() > 0) continue;
    for (const auto& follower : sequences_) {
      if (follower->request == sequence.request && follower->state == SeqState::following)
        choose_for(*follower, logits, maxima);
    }
  }
}

void StepEngine::choose_for(Sequence& sequence, std::span<const float> logits,
                            std::span<const float> maxima) {
  try {
    choose_or_throw(sequence, logits, maxima);
  } catch (const std::bad_alloc&) {
    end_without_memory(sequence, "the draw");
  }
}

void StepEngine::choose_or_throw(Sequence& sequence, std::span<const float> logits,
                                 std::span<const float> maxima) {
  RequestImpl& request = *sequence.request;
  if (request.ended()) return;
  const auto position = static_cast<uint32_t>(sequence.tokens.size());
  const std::span<const float> model_logits = logits;
  if (request.params.on_logits && sequence.n_max > 0) {
    hook_logits_.assign(logits.begin(), logits.end());
    if (!request.enter_hook()) return;
    request.params.on_logits(request.params.user, sequence.sample, hook_logits_.data(),
                             static_cast<int32_t>(hook_logits_.size()));
    request.leave_hook();
    logits = hook_logits_;
  }
  if (sequence.n_max == 0) {  // a prompt to be computed only
    Status status = request.chain->check(logits, position, maxima);
    if (status.ok())
      choices_.push_back({&sequence, {}});
    else
      request.end(Finish::error, std::move(status));
    return;
  }
  const uint64_t seed = LLMRT_PLANT(fork_same_seed, sequence.seed,
                                    mix_seed(static_cast<uint64_t>(request.params.seed), 0));
  Result<Pick> pick =
      request.chain->sample(logits, {sequence.tokens, seed, position}, model_logits, maxima);
  if (!pick.ok()) {
    request.end(Finish::error, std::move(pick).status());
    return;
  }
  choices_.push_back({&sequence, std::move(pick).value()});
}

}  // namespace llmrt
