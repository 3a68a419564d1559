// evaluate(): a request whose rows' logits are wanted and nothing is drawn. It goes through the same queue, plan and passes as all
// others; the prefix tree may serve positions below `first`, whose logits nobody wants. It publishes nothing.
#include <string>

#include "engine/engine_front.h"
#include "engine/limits.h"

namespace llmrt {

Status EngineImpl::evaluate(std::span<const Token> tokens, uint32_t first,
                            std::span<float> logits) {
  LLMRT_TRY(refuse_if_closed());
  LLMRT_TRY(check_prompt(tokens));
  if (first >= tokens.size())
    return refuse("first", std::to_string(first), "0 to " + std::to_string(tokens.size() - 1));
  const size_t wanted = (tokens.size() - first) * model_->def.program.n_vocab;
  if (logits.size() != wanted)
    return refuse("logits", std::to_string(logits.size()) + " floats", std::to_string(wanted));
  GenParams params;
  params.max_tokens = 0;
  LLMRT_TRY(most_new_tokens(tokens.size(), params).status());

  auto request =
      std::make_shared<RequestImpl>(shared_, params, static_cast<uint32_t>(tokens.size()));
  request->evaluation = Evaluation{first, logits};
  Submission submission;
  submission.request = request;
  auto sequence = std::make_unique<Sequence>(request, steps_->layout(), std::vector<std::string>());
  sequence->tokens.assign(tokens.begin(), tokens.end());
  sequence->n_prompt = static_cast<uint32_t>(tokens.size());
  sequence->rank_key = request->submitted_ns;
  submission.sequences.push_back(std::move(sequence));
  LLMRT_TRY(enqueue(std::move(submission)));
  Status status = request->wait_to_end();
  if (status.code() == Code::cancelled) return error(Code::closed, "the engine was closed");
  return status;
}

}  // namespace llmrt
