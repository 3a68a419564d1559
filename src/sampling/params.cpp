#include "sampling/params.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace llmrt {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr uint32_t kMaxVocab = 1u << 22;  // mass.h: 2^40 per candidate in 63 bits

struct Allowed {
  const char* name;
  double value;
  double low, high;  // -kNone, kNone: no bound
};

Status check(const Allowed& option) {
  if (option.value >= option.low && option.value <= option.high) return {};
  const std::string low = number_text(option.low), high = number_text(option.high);
  const std::string allowed = option.high == kNone   ? low + " or more"
                              : option.low == -kNone ? high + " or less"
                                                     : low + " to " + high;
  return error(Code::invalid_argument, "%s is %s; allowed: %s", option.name,
               number_text(option.value).c_str(), allowed.c_str())
      .at(option.name);
}

}  // namespace

std::string number_text(double value) {
  char text[64];
  const auto single = static_cast<float>(value);
  const auto written = static_cast<double>(single) == value || std::isnan(value)
                           ? std::to_chars(text, text + sizeof text, single)
                           : std::to_chars(text, text + sizeof text, value);
  return std::string(text, written.ptr);
}

Status validate(const SamplingParams& params, uint32_t n_vocab) {
  if (n_vocab == 0 || n_vocab > kMaxVocab) {
    return error(Code::unsupported, "the vocabulary has %u tokens, sampling allows 1 to %u",
                 n_vocab, kMaxVocab);
  }
  const Allowed options[] = {
      {"temperature", params.temperature, 0, kMostTemperature},
      {"top_p", params.top_p, 0, kNone},
      {"min_p", params.min_p, -kNone, 1},
      {"typical_p", params.typical_p, 0, kNone},
      {"penalty_last_n", static_cast<double>(params.penalty_last_n), -1, kNone},
      {"repeat_penalty", params.repeat_penalty, 0.01f, 100},
      {"frequency_penalty", params.frequency_penalty, -100, 100},
      {"presence_penalty", params.presence_penalty, -100, 100},
      {"xtc_probability", params.xtc_probability, 0, 1},
      {"xtc_threshold", params.xtc_threshold, 0, 1},
      {"dry_multiplier", params.dry_multiplier, 0, 100},
      {"dry_base", params.dry_base, 1, 100},
      {"dry_allowed_length", static_cast<double>(params.dry_allowed_length), 0, kNone},
      {"logprobs", static_cast<double>(params.logprobs), 0, 20},
  };
  for (const Allowed& option : options) LLMRT_TRY(check(option));
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
