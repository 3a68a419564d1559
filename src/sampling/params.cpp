#include "sampling/params.h"

#include "base/limit.h"

namespace llmrt {
namespace {

constexpr uint32_t kMaxVocab = 1u << 22;  // mass.h: 2^40 per candidate in 63 bits

}  // namespace

Status validate(const SamplingParams& params, uint32_t n_vocab) {
  if (n_vocab == 0 || n_vocab > kMaxVocab) {
    return error(Code::unsupported, "the vocabulary has %u tokens, sampling allows 1 to %u",
                 n_vocab, kMaxVocab);
  }
  const std::pair<RealLimit, double> options[] = {
      {{"temperature", 0, kMostTemperature}, params.temperature},
      {{"top_p", 0, kNoBound}, params.top_p},
      {{"min_p", -kNoBound, 1}, params.min_p},
      {{"typical_p", 0, kNoBound}, params.typical_p},
      {{"penalty_last_n", -1, kNoBound}, static_cast<double>(params.penalty_last_n)},
      {{"repeat_penalty", 0.01f, 100}, params.repeat_penalty},
      {{"frequency_penalty", -100, 100}, params.frequency_penalty},
      {{"presence_penalty", -100, 100}, params.presence_penalty},
      {{"xtc_probability", 0, 1}, params.xtc_probability},
      {{"xtc_threshold", 0, 1}, params.xtc_threshold},
      {{"dry_multiplier", 0, 100}, params.dry_multiplier},
      {{"dry_base", 1, 100}, params.dry_base},
      {{"dry_allowed_length", 0, kNoBound}, static_cast<double>(params.dry_allowed_length)},
      {{"logprobs", 0, 20}, static_cast<double>(params.logprobs)},
  };
  for (const auto& [limit, value] : options) LLMRT_TRY(check(limit, value));
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < 0 || static_cast<uint32_t>(id) >= n_vocab) {
      return error(Code::invalid_argument, "logit_bias names token %d; allowed: 0 to %u", id,
                   n_vocab - 1)
          .at("logit_bias");
    }
    if (!(bias < std::numeric_limits<float>::infinity())) {
      return error(Code::invalid_argument,
                   "logit_bias of token %d is %g; allowed: finite numbers and -inf", id,
                   static_cast<double>(bias))
          .at("logit_bias");
    }
  }
  return {};
}

}  // namespace llmrt
