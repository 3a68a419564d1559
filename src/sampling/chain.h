// Chain: ordered steps and one draw. token = argmax(log p + Gumbel(seed, position, token)): coupled sampling, so preemption,
// batching and speculation never change a draw. Ties go to the lowest id.
//
// Temperature 0: argmax of the logits after the steps that edit them (logit_bias, penalties, dry); cuts (top_k ... xtc) and noise
// have no part in it. A draw depends on the logits, the history, seed and position only: sums over candidates are integers
// (mass.h), noise is a function of (seed, position, token).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sampling/row_select.h"
#include "sampling/step.h"

namespace llmrt {

struct TopLogprob {
  Token id = 0;
  float logprob = 0;
};

// Of a token that was drawn.
struct TokenLogprob {
  float logprob = 0;
  std::vector<TopLogprob> top;  // descending
};

struct Pick {
  Token id = -1;
  float logprob = 0;            // computed only if params.logprobs asks for it
  std::vector<TopLogprob> top;  // params.logprobs entries, descending
};

// What makes a logit a log probability: logprob = logit - max - log(sum of e^(logit - max)).
struct Softmax {
  Softmax(uint64_t total_mass, float max);  // mass.h
  float logprob(float logit) const;
  double max, log_total;
};

class Chain {
 public:
  // invalid_argument: names the bad option or chain word and lists what is allowed. NaN anywhere in params is refused.
  // token_bytes: [n_vocab] or empty (then DRY has no breakers); alive as long as the chain.
  static Result<std::unique_ptr<Chain>> make(const SamplingParams& params, uint32_t n_vocab,
                                             std::span<const TokenBytes> token_bytes);
  // Takes the memory that draws will use for histories of up to n_history tokens: sample() then takes none, but for Pick::top.
  void reserve(size_t n_history);
  // logits: [n_vocab], unchanged. No allocation once warm, but for Pick::top. One thread at a time.
  // What check() refuses is refused; every token banned: invalid_argument.
  // Log probabilities are the log-softmax of model_logits, which is `logits` unless the host edited those, or, if they are to be
  // processed ones, of the candidates that are left for the draw; temperature 0: of the edited logits, since no cut has a part in it.
  // model_maxima: of the blocks of model_logits (graph/logit_blocks.h), which are then not scanned, or empty. It changes no result.
  Result<Pick> sample(std::span<const float> logits, const SampleContext& context,
                      std::span<const float> model_logits,
                      std::span<const float> model_maxima = {});
  Result<Pick> sample(std::span<const float> logits, const SampleContext& context) {
    return sample(logits, context, logits);
  }
  // What sample() looks at first, for rows of which nothing is drawn. A NaN or +inf logit: internal error "logits of position N hold
  // NaN"; the position is that of the token they are for.
  Status check(std::span<const float> logits, uint32_t position,
               std::span<const float> maxima = {});

 private:
  Chain() = default;
  std::span<const float> apply_leading_edits(std::span<const float> logits,
                                             const SampleContext& context, size_t& next_step);
  // The row that select_ knows becomes candidates_, by the rule of the next step if that has one: true, and the step is done.
  bool list_candidates(std::span<const float> row, size_t next_step);
  void list_share(std::span<const float> row, double share);
  // No cut is left: the draw is from the whole row, each logit as cooled(logit, max, temperature).
  struct Cooling {
    float max, temperature;
  };
  std::optional<Cooling> draws_from_row(size_t next_step) const;
  // Into pick.top the best of the row that select_ knows.
  Softmax report_row(std::span<const float> row, Pick& pick);
  // Into pick the best of the candidates and the one that was drawn; leaves them in another order.
  void report_candidates(Pick& pick);

  SamplingParams params_;
  uint32_t n_vocab_ = 0;
  std::vector<std::unique_ptr<SamplingStep>> steps_;  // those that are on, in order
  bool greedy_ = false;
  Candidates candidates_;
  RowSelect select_;
  std::vector<float> row_;  // edited copy of the logits
};

// seed_i = mix(seed, i): the seed of sample i of a request.
uint64_t mix_seed(uint64_t seed, uint32_t sample);

}  // namespace llmrt
