#include "sampling/chain.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/float_control.h"
#include "base/in_quotes.h"
#include "base/math.h"
#include "sampling/mass.h"
#include "sampling/params.h"
#include "sampling/rng.h"

namespace llmrt {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Status unknown_step(std::string_view word) {
  std::string known;
  for (const StepFactory& factory : all_sampling_steps())
    known += (known.empty() ? "" : ", ") + std::string(factory.name);
  return error(Code::invalid_argument, "sampler_chain: unknown step %s, known are %s",
               in_quotes(word, 40).c_str(), known.c_str())
      .at("sampler_chain");
}

// Steps of "a;b;c", without those that are off. Each word at most once, so the list is short whatever the text.
Result<std::vector<std::unique_ptr<SamplingStep>>> make_steps(const StepInit& init) {
  const auto factories = all_sampling_steps();
  std::vector<bool> seen(factories.size());
  std::vector<std::unique_ptr<SamplingStep>> steps;
  std::string_view rest = init.params.chain;
  while (!rest.empty()) {
    const size_t semicolon = rest.find(';');
    const std::string_view word = rest.substr(0, semicolon);
    const auto it = std::find_if(factories.begin(), factories.end(),
                                 [&](const StepFactory& f) { return word == f.name; });
    if (it == factories.end()) return unknown_step(word);
    const auto index = static_cast<size_t>(it - factories.begin());
    if (seen[index])
      return error(Code::invalid_argument, "sampler_chain names %s twice, once is allowed",
                   it->name)
          .at("sampler_chain");
    seen[index] = true;
    LLMRT_ASSIGN(auto step, it->make(init));
    if (step) steps.push_back(std::move(step));
    if (semicolon == std::string_view::npos) break;
    rest = rest.substr(semicolon + 1);
    if (rest.empty()) return unknown_step(rest);
  }
  return steps;
}

Status all_banned(uint32_t position) {
  return error(Code::invalid_argument,
               "every token of position %u is banned or has a logit of -inf, one must be left",
               position);
}

// max over candidates of logit + Gumbel noise, lowest id on ties.
Token draw(const std::vector<Candidate>& items, const SampleContext& context) {
  Token best_id = std::numeric_limits<Token>::max();
  float best = -kInf;
  for (const Candidate& item : items) {
    const float v = uniform(context.seed, context.position, RandomStream::gumbel,
                            static_cast<uint32_t>(item.id));
    // -log(1 - v) >= v, so the noise is at most -log v <= -floor(log2 v) log 2: most candidates of a long list end here, without a log.
    const int exponent = static_cast<int>(float_bits(v) >> 23) - 127;
    const float bound = item.logit - static_cast<float>(exponent) * 0.694f;
    if (bound < best) continue;
    const float score = item.logit + gumbel_from_uniform(v);
    if (score > best || (score == best && item.id < best_id)) {
      best = score;
      best_id = item.id;
    }
  }
  // Every score -inf: noise cannot tell them apart, the lowest id is left.
  if (best == -kInf) {
    for (const Candidate& item : items) best_id = std::min(best_id, item.id);
  }
  return best_id;
}

}  // namespace

Result<std::unique_ptr<Chain>> Chain::make(const SamplingParams& params, uint32_t n_vocab,
                                           std::span<const TokenBytes> token_bytes) {
  const FloatScope floats(FloatMode::ieee);  // steps keep logarithms of their parameters
  LLMRT_TRY(validate(params, n_vocab));
  if (!token_bytes.empty() && token_bytes.size() != n_vocab) {
    return error(Code::internal, "%zu token texts for a vocabulary of %u", token_bytes.size(),
                 n_vocab);
  }
  std::unique_ptr<Chain> chain(new Chain());
  chain->params_ = params;
  chain->n_vocab_ = n_vocab;
  chain->greedy_ = is_greedy(params.temperature);
  LLMRT_ASSIGN(chain->steps_, make_steps({params, n_vocab, token_bytes}));
  return chain;
}

std::span<const float> Chain::apply_leading_edits(std::span<const float> logits,
                                                  const SampleContext& context, size_t& next_step) {
  std::span<const float> row = logits;
  for (; next_step < steps_.size(); ++next_step) {
    const auto edits = steps_[next_step]->edits(context, candidates_.scratch);
    if (!edits && !greedy_) break;  // greedy: later edits count too, and nothing else does
    if (!edits || edits->empty()) continue;
    if (row.data() == logits.data()) {
      row_.assign(logits.begin(), logits.end());
      row = row_;
    }
    for (const LogitEdit& edit : *edits) {
      float& logit = row_[static_cast<size_t>(edit.id)];
      logit = edited(logit, edit);
    }
    select_.rescan(row, *edits);
  }
  return row;
}

Softmax::Softmax(uint64_t total_mass, float max_logit)
    : max(static_cast<double>(max_logit)),
      log_total(log_f64(static_cast<double>(total_mass) / static_cast<double>(kMassOne))) {}

float Softmax::logprob(float logit) const {
  return static_cast<float>((static_cast<double>(logit) - max) - log_total);
}

Softmax Chain::report_row(std::span<const float> row, Pick& pick) {
  const float max = select_.max();
  const Softmax softmax(total_mass(row, max), max);
  select_.best(row, static_cast<uint32_t>(params_.logprobs), candidates_.items);
  for (const Candidate& item : candidates_.items)
    pick.top.push_back({item.id, softmax.logprob(item.logit)});
  return softmax;
}

void Chain::report_candidates(Pick& pick) {
  auto& items = candidates_.items;
  const size_t n = std::min(static_cast<size_t>(params_.logprobs), items.size());
  std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(n), items.end(),
                    better);
  const float max = items.front().logit;
  const Softmax softmax(total_mass(items, max), max);
  for (size_t i = 0; i < n; ++i) pick.top.push_back({items[i].id, softmax.logprob(items[i].logit)});
  for (const Candidate& item : items) {
    if (item.id == pick.id) pick.logprob = softmax.logprob(item.logit);
  }
}

// Leaves select_ with the row's scan, for sample().
Status Chain::check(std::span<const float> logits, uint32_t position) {
  if (logits.size() != n_vocab_)
    return error(Code::internal, "%zu logits for a vocabulary of %u", logits.size(), n_vocab_);
  const FloatScope float_control(FloatMode::compute);
  if (select_.scan(logits)) return {};
  const bool nan = std::any_of(logits.begin(), logits.end(), [](float x) { return x != x; });
  return error(Code::internal, "logits of position %u hold %s, all must be finite or -inf",
               position, nan ? "NaN" : "+inf");
}

Result<Pick> Chain::sample(std::span<const float> logits, const SampleContext& context,
                           std::span<const float> model_logits) {
  const FloatScope float_control(FloatMode::compute);
  const bool of_model = params_.logprobs > 0 && !params_.logprobs_processed;
  const bool processed = params_.logprobs > 0 && params_.logprobs_processed;
  Pick pick;
  std::optional<Softmax> model_softmax;
  if (of_model) {
    LLMRT_TRY(check(model_logits, context.position));
    if (select_.max() == -kInf) return all_banned(context.position);
    model_softmax = report_row(model_logits, pick);
  }
  if (!of_model || model_logits.data() != logits.data()) LLMRT_TRY(check(logits, context.position));

  size_t next_step = 0;
  const std::span<const float> row = apply_leading_edits(logits, context, next_step);
  if (select_.max() == -kInf) return all_banned(context.position);
  if (greedy_) {
    pick.id = select_.argmax(row);
    if (processed) pick.logprob = report_row(row, pick).logprob(row[static_cast<size_t>(pick.id)]);
  } else {
    const uint32_t k = next_step < steps_.size() ? steps_[next_step]->keeps_best() : 0;
    candidates_.sorted = k > 0;
    if (k > 0) {
      select_.best(row, k, candidates_.items);
      ++next_step;
    } else {
      select_.all(row, candidates_.items);
    }
    for (; next_step < steps_.size(); ++next_step) {
      steps_[next_step]->apply(candidates_, context);
      if (candidates_.items.empty()) return all_banned(context.position);
    }
    pick.id = draw(candidates_.items, context);
    if (processed) report_candidates(pick);
  }
  if (model_softmax)
    pick.logprob = model_softmax->logprob(model_logits[static_cast<size_t>(pick.id)]);
  return pick;
}

}  // namespace llmrt
