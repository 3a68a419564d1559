#include "sampling/params.h"

#include <functional>

#include "support.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

std::string message_of(const std::function<void(SamplingParams&)>& change) {
  SamplingParams params;
  change(params);
  const auto chain = Chain::make(params, 300, {});
  if (chain.ok()) return "";
  CHECK(chain.status().code() == Code::invalid_argument);
  CHECK(chain.status().message().size() <= 200);
  return std::string(chain.status().message());
}

}  // namespace

TEST_CASE("params: a number out of range is named with its value and what is allowed") {
  CHECK(message_of([](auto& p) { p.temperature = -0.5f; }) ==
        "temperature is -0.5; allowed: 0 to 100");
  CHECK(message_of([](auto& p) { p.temperature = 100.00001f; }) ==
        "temperature is 100.00001; allowed: 0 to 100");
  CHECK(message_of([](auto& p) { p.penalty_last_n = -2147483647; }) ==
        "penalty_last_n is -2147483647; allowed: -1 and up");
  CHECK(message_of([](auto& p) { p.top_p = -0.1f; }) == "top_p is -0.1; allowed: 0 and up");
  CHECK(message_of([](auto& p) { p.min_p = 1.5f; }) == "min_p is 1.5; allowed: 1 and down");
  CHECK(message_of([](auto& p) { p.typical_p = -1; }) == "typical_p is -1; allowed: 0 and up");
  CHECK(message_of([](auto& p) { p.penalty_last_n = -2; }) ==
        "penalty_last_n is -2; allowed: -1 and up");
  CHECK(message_of([](auto& p) { p.repeat_penalty = 0; }) ==
        "repeat_penalty is 0; allowed: 0.01 to 100");
  CHECK(message_of([](auto& p) { p.frequency_penalty = kInf; }) ==
        "frequency_penalty is inf; allowed: -100 to 100");
  CHECK(message_of([](auto& p) { p.presence_penalty = -101; }) ==
        "presence_penalty is -101; allowed: -100 to 100");
  CHECK(message_of([](auto& p) { p.xtc_probability = 2; }) ==
        "xtc_probability is 2; allowed: 0 to 1");
  CHECK(message_of([](auto& p) { p.xtc_threshold = -1; }) ==
        "xtc_threshold is -1; allowed: 0 to 1");
  CHECK(message_of([](auto& p) { p.dry_multiplier = -1; }) ==
        "dry_multiplier is -1; allowed: 0 to 100");
  CHECK(message_of([](auto& p) { p.dry_base = 0.5f; }) == "dry_base is 0.5; allowed: 1 to 100");
  CHECK(message_of([](auto& p) { p.dry_allowed_length = -1; }) ==
        "dry_allowed_length is -1; allowed: 0 and up");
  CHECK(message_of([](auto& p) { p.logprobs = 21; }) == "logprobs is 21; allowed: 0 to 20");
  CHECK(message_of([](auto& p) {
          p.logit_bias = {{300, 1.0f}};
        }) == "logit_bias names token 300; allowed: 0 to 299");
  CHECK(message_of([](auto& p) {
          p.logit_bias = {{-1, 1.0f}};
        }) == "logit_bias names token -1; allowed: 0 to 299");
  CHECK(message_of([](auto& p) {
          p.logit_bias = {{5, kInf}};
        }) == "logit_bias of token 5 is inf; allowed: finite numbers and -inf");
}

TEST_CASE("params: NaN is refused everywhere") {
  float SamplingParams::*const floats[] = {&SamplingParams::temperature,
                                           &SamplingParams::top_p,
                                           &SamplingParams::min_p,
                                           &SamplingParams::typical_p,
                                           &SamplingParams::repeat_penalty,
                                           &SamplingParams::frequency_penalty,
                                           &SamplingParams::presence_penalty,
                                           &SamplingParams::xtc_probability,
                                           &SamplingParams::xtc_threshold,
                                           &SamplingParams::dry_multiplier,
                                           &SamplingParams::dry_base};
  for (const auto member : floats) {
    CHECK(message_of([&](auto& p) { p.*member = std::nanf(""); }).find("is nan; allowed:") !=
          std::string::npos);
  }
  CHECK(message_of([](auto& p) {
          p.logit_bias = {{5, std::nanf("")}};
        }).find("token 5 is nan") != std::string::npos);
}

TEST_CASE("params: the borders themselves and the off values are fine") {
  CHECK(message_of([](auto& p) { p.temperature = 0; }) == "");
  CHECK(message_of([](auto& p) { p.top_k = -7; }) == "");
  CHECK(message_of([](auto& p) { p.top_k = std::numeric_limits<int32_t>::max(); }) == "");
  CHECK(message_of([](auto& p) { p.top_p = 0; }) == "");
  CHECK(message_of([](auto& p) { p.top_p = 7; }) == "");
  CHECK(message_of([](auto& p) { p.min_p = -3; }) == "");
  CHECK(message_of([](auto& p) { p.penalty_last_n = -1; }) == "");
  CHECK(message_of([](auto& p) { p.logit_bias = {{299, -kInf}, {0, 3.0f}}; }) == "");
}

TEST_CASE(
    "params: a chain with an unknown, empty or repeated word is refused and the known words are "
    "listed") {
  CHECK(message_of([](auto& p) { p.chain = "top_k;topp"; }) ==
        "sampler_chain: unknown step \"topp\", known are logit_bias, penalties, dry, top_k, "
        "typical, top_p, min_p, xtc, temperature");
  CHECK(message_of([](auto& p) { p.chain = "top_k;;top_p"; }).find("unknown step \"\"") !=
        std::string::npos);
  CHECK(message_of([](auto& p) { p.chain = "top_k;"; }).find("unknown step \"\"") !=
        std::string::npos);
  CHECK(message_of([](auto& p) { p.chain = "top_k;top_p;top_k"; }) ==
        "sampler_chain names top_k twice, once is allowed");
  CHECK(message_of([](auto& p) { p.chain = std::string(100000, 'x'); }).size() <= 200);
  CHECK(message_of([](auto& p) { p.chain = ""; }) == "");
}

TEST_CASE("params: a vocabulary of no or too many tokens is refused") {
  CHECK_FALSE(Chain::make({}, 0, {}).ok());
  CHECK_FALSE(Chain::make({}, 1u << 30, {}).ok());
}

TEST_CASE("params: a chain that nobody named is the documented one") {
  CHECK(SamplingParams().chain ==
        "logit_bias;penalties;dry;top_k;typical;top_p;min_p;xtc;temperature");
}
