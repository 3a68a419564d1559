// What the sampling tests share: candidate lists, steps by name, and the plain double-precision meaning of the cuts.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "sampling/chain.h"
#include "sampling/rng.h"

namespace llmrt::test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline Candidates candidates_of(const std::vector<float>& logits) {
  Candidates out;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] > -kInf) out.items.push_back({static_cast<Token>(i), logits[i]});
  }
  return out;
}

inline std::vector<Token> sorted_ids(const Candidates& candidates) {
  std::vector<Token> ids;
  for (const Candidate& c : candidates.items) ids.push_back(c.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

inline std::vector<Token> ids_in_order(const Candidates& candidates) {
  std::vector<Token> ids;
  for (const Candidate& c : candidates.items) ids.push_back(c.id);
  return ids;
}

// The plain meaning of a draw from what is left: every candidate's noise is made.
inline Token plain_argmax(const std::vector<Candidate>& items, const SampleContext& context) {
  Token best_id = -1;
  float best = 0;
  for (const Candidate& item : items) {
    const float score = item.logit + gumbel_from_uniform(uniform(context.seed, context.position,
                                                                 RandomStream::gumbel,
                                                                 static_cast<uint32_t>(item.id)));
    if (best_id < 0 || score > best || (score == best && item.id < best_id)) {
      best = score;
      best_id = item.id;
    }
  }
  return best_id;
}

// Every cut off, temperature 1: each test turns on what it is about.
inline SamplingParams plain() {
  SamplingParams p;
  p.temperature = 1;
  p.top_k = 0;
  p.top_p = 1;
  p.min_p = 0;
  return p;
}

inline std::unique_ptr<SamplingStep> make_step(const std::string& name,
                                               const SamplingParams& params, uint32_t n_vocab,
                                               std::span<const TokenBytes> bytes = {}) {
  for (const StepFactory& factory : all_sampling_steps()) {
    if (name != factory.name) continue;
    auto step = factory.make({params, n_vocab, bytes});
    REQUIRE(step.ok());
    return std::move(step).value();
  }
  FAIL("no such step");
  return nullptr;
}

inline std::unique_ptr<Chain> make_chain(const SamplingParams& params, uint32_t n_vocab,
                                         std::span<const TokenBytes> bytes = {}) {
  auto chain = Chain::make(params, n_vocab, bytes);
  INFO(std::string(chain.status().message()));
  REQUIRE(chain.ok());
  return std::move(chain).value();
}

inline Token pick(Chain& chain, const std::vector<float>& logits,
                  const SampleContext& context = {}) {
  auto result = chain.sample(logits, context);
  INFO(std::string(result.status().message()));
  REQUIRE(result.ok());
  return result->id;
}

inline std::vector<float> random_logits(std::mt19937& rng, size_t n, float spread) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> logits(n);
  for (float& l : logits) l = normal(rng);
  return logits;
}

// Softmax in double precision over logits (-inf has none).
inline std::vector<double> softmax(const std::vector<float>& logits) {
  double max = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const float l : logits) max = std::max(max, static_cast<double>(l));
  std::vector<double> p;
  for (const float l : logits) p.push_back(std::exp(static_cast<double>(l) - max));
  for (const double x : p) sum += x;
  for (double& x : p) x /= sum;
  return p;
}

// What a backend tells of a row, graph/logit_blocks.h, written plainly.
inline std::vector<float> maxima_of(const std::vector<float>& row) {
  std::vector<float> maxima;
  for (size_t begin = 0; begin < row.size(); begin += 16) {
    float max = -kInf;
    for (size_t i = begin; i < std::min(begin + 16, row.size()); ++i)
      max = std::isnan(row[i]) ? kInf : std::max(max, row[i]);
    maxima.push_back(max);
  }
  return maxima;
}

// Ids by descending logit, lowest first on ties.
inline std::vector<Token> by_rank(const std::vector<float>& logits) {
  std::vector<Token> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](Token a, Token b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  return ids;
}

}  // namespace llmrt::test
