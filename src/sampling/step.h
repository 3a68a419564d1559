// A sampling step edits a span of candidates. One file steps/<name>.cpp and one line in steps/registry.cpp per step; the C API names
// steps by string, so a new step changes no header. Steps are pure: no state between calls but what SampleContext shows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace llmrt {

using Token = int32_t;

struct Candidate {
  Token id = 0;
  float logit = 0;
};

// Candidates of one draw. `sorted`: by descending logit, lowest id first on ties. Steps may drop candidates, never all of them.
struct Candidates {
  std::vector<Candidate> items;
  bool sorted = false;
  void sort();  // stable order above
};

// logit_bias entries, penalties and so on: the numbers of llmrt_gen_options, with rules.md 4's defaults.
struct SamplingParams {
  float temperature = 0.8f;  // 0: argmax
  int32_t top_k = 40;
  float top_p = 0.95f, min_p = 0.05f, typical_p = 1.0f;
  int32_t penalty_last_n = 64;  // 0: off, -1: whole context
  float repeat_penalty = 1.0f, frequency_penalty = 0.0f, presence_penalty = 0.0f;
  float xtc_probability = 0.0f, xtc_threshold = 0.1f;
  float dry_multiplier = 0.0f, dry_base = 1.75f;
  int32_t dry_allowed_length = 2;
  std::vector<std::pair<Token, float>> logit_bias;
  std::string chain = "logit_bias;penalties;dry;top_k;typical;top_p;min_p;xtc;temperature";
  int32_t logprobs = 0;  // how many alternatives to report; 0: chosen token's only on request
};

// Bytes of every token, for DRY's sequence breakers: sampling never includes tokenizer.
using TokenBytes = std::string_view;

struct SampleContext {
  std::span<const Token> history;  // prompt and generated tokens so far
  uint64_t seed = 0;               // seed_i of this sample
  uint32_t position = 0;           // absolute position of the token being drawn
};

class SamplingStep {
 public:
  virtual ~SamplingStep() = default;
  virtual void apply(Candidates& candidates, const SampleContext& context) const = 0;
};

struct StepInit {
  const SamplingParams& params;
  uint32_t n_vocab = 0;
  std::span<const TokenBytes> token_bytes;  // may be empty; alive as long as the step
};

struct StepFactory {
  const char* name;
  // nullptr result: this step is off with these params.
  Result<std::unique_ptr<SamplingStep>> (*make)(const StepInit& init);
};
std::span<const StepFactory> all_sampling_steps();

}  // namespace llmrt
