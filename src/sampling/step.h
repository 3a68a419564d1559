// A sampling step edits the candidates of one draw. One file steps/<name>.cpp and one line in steps/registry.cpp per step; the C API
// names steps by string, so a new step changes no header. Steps are pure: no state between calls but what SampleContext shows.
//
//   raw logits -> [edits of single logits: logit_bias, penalties, dry] -> [cuts: top_k ... xtc] -> temperature -> draw
//
// The chain option orders them. Two hints, with working defaults, let the chain skip work that would not change the answer: edits()
// is applied to the dense row of logits, before any candidate list exists; row_rule() lets the first cut make the list from the few
// blocks of that row that matter, and a draw without cuts do without a list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace llmrt {

using Token = int32_t;

struct Candidate {
  Token id = 0;
  float logit = 0;
};

// The one order of candidates: descending logit, lowest id first on ties. Total, so sorting has one answer.
inline bool better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

// l' = (l > 0 ? l / divide : l * divide) - subtract
struct LogitEdit {
  Token id = 0;
  float divide = 1;
  float subtract = 0;  // +inf bans the token
};

// Memory that steps reuse from draw to draw. Contents mean nothing between calls.
struct StepScratch {
  std::vector<LogitEdit> edits;
  std::vector<Token> tokens;
  std::vector<uint32_t> lengths;
};

// Candidates of one draw, all finite. `sorted`: in the order of better(). Steps may drop candidates; only bans may drop the last one,
// and the draw then fails.
struct Candidates {
  std::vector<Candidate> items;
  bool sorted = false;
  StepScratch scratch;
  void sort();
};

// The numbers of llmrt_gen_options that concern the draw, with its defaults. Plain data: making one takes no memory.
struct SamplingNumbers {
  float temperature = 0.8f;     // 0: argmax
  int32_t top_k = 40;           // <= 0: off
  float top_p = 0.95f;          // >= 1: off
  float min_p = 0.05f;          // <= 0: off
  float typical_p = 1.0f;       // >= 1: off
  int32_t penalty_last_n = 64;  // 0: off, -1: whole context
  float repeat_penalty = 1.0f, frequency_penalty = 0.0f, presence_penalty = 0.0f;
  float xtc_probability = 0.0f, xtc_threshold = 0.1f;
  float dry_multiplier = 0.0f, dry_base = 1.75f;
  int32_t dry_allowed_length = 2;
  // n > 0: the chosen token's and the n best; 0: none
  int32_t logprobs = 0;
  bool logprobs_processed = false;  // of what was drawn from, not of the model's logits
};

struct SamplingParams : SamplingNumbers {
  // biases of one token add up; -100 and below ban it
  std::vector<std::pair<Token, float>> logit_bias;
  std::string chain = "logit_bias;penalties;dry;top_k;typical;top_p;min_p;xtc;temperature";
};

// Bytes of a token, for DRY's sequence breakers: sampling never includes tokenizer.
using TokenBytes = std::string_view;

struct SampleContext {
  std::span<const Token> history;  // prompt and generated tokens so far
  uint64_t seed = 0;               // seed_i of this sample
  uint32_t position = 0;           // absolute position of the token being drawn
};

// All that a step does, in words that the chain can apply to the dense row; at most one of them. max: of the candidates.
struct RowRule {
  uint32_t best = 0;                                // > 0: keeps that many best candidates, sorted
  std::optional<float> within = std::nullopt;       // keeps those with logit - max >= within
  std::optional<double> share = std::nullopt;       // keep_mass() (mass.h) of it, best first
  std::optional<float> temperature = std::nullopt;  // l' = cooled(l, max, temperature)
};

// (l - max) / T of a finite logit. Taking the maximum away first keeps every quotient at or below 0, however small T is.
inline float cooled(float logit, float max, float temperature) {
  return std::max((logit - max) / temperature, -std::numeric_limits<float>::max());
}

class SamplingStep {
 public:
  virtual ~SamplingStep() = default;
  virtual void apply(Candidates& candidates, const SampleContext& context) const = 0;

  // A step that only changes logits of single tokens, each by a rule of its own: all its edits, ascending ids, no id twice or out
  // of the vocabulary. apply() is then the same edits on a candidate list. The view lives until scratch is used again.
  virtual std::optional<std::span<const LogitEdit>> edits(const SampleContext& context,
                                                          StepScratch& scratch) const;
  virtual RowRule row_rule() const { return {}; }
  // Of the edits() kind.
  virtual bool only_edits() const { return false; }
  // Takes the memory of scratch that it will use for histories of up to n_history tokens.
  virtual void reserve(StepScratch& /*scratch*/, size_t /*n_history*/) const {}
};

// A step of the edits() kind: only edits() is left to write.
class LogitEditStep : public SamplingStep {
 public:
  void apply(Candidates& candidates, const SampleContext& context) const final;
  bool only_edits() const final { return true; }
  std::optional<std::span<const LogitEdit>> edits(const SampleContext& context,
                                                  StepScratch& scratch) const override = 0;
};
float edited(float logit, const LogitEdit& edit);

struct StepInit {
  const SamplingParams& params;  // validated; not kept
  uint32_t n_vocab = 0;
  std::span<const TokenBytes> token_bytes;  // [n_vocab] or empty; alive as long as the step
};

struct StepFactory {
  const char* name;
  // nullptr result: this step is off with these params.
  Result<std::unique_ptr<SamplingStep>> (*make)(const StepInit& init);
};
std::span<const StepFactory> all_sampling_steps();

}  // namespace llmrt
