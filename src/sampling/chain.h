// Chain: ordered steps and one draw. token = argmax(log p + Gumbel(seed, position, token)): coupled sampling, so preemption,
// batching and speculation never change a draw. Temperature 0: argmax of the processed logits, lowest id on ties, no noise.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sampling/step.h"

namespace llmrt {

struct TopLogprob {
  Token id = 0;
  float logprob = 0;
};

struct Pick {
  Token id = -1;
  float logprob = 0;            // of the raw logits; computed only if logprobs are asked for
  std::vector<TopLogprob> top;  // params.logprobs entries, descending
};

class Chain {
 public:
  // invalid_argument: names the bad option or chain word and lists what is allowed. NaN anywhere in params is refused.
  static Result<std::unique_ptr<Chain>> make(const SamplingParams& params, uint32_t n_vocab,
                                             std::span<const TokenBytes> token_bytes);
  // logits: [n_vocab], unchanged. A NaN or +Inf logit: internal error "logits of position N hold NaN". No allocation once warm.
  Result<Pick> sample(std::span<const float> logits, const SampleContext& context);
  const SamplingParams& params() const { return params_; }

 private:
  Chain() = default;
  SamplingParams params_;
  std::vector<std::unique_ptr<SamplingStep>> steps_;
  Candidates scratch_;
  bool greedy_ = false;
};

// seed_i = mix(seed, i): the seed of sample i of a request.
uint64_t mix_seed(uint64_t seed, uint32_t sample);

}  // namespace llmrt
