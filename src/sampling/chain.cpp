#include "sampling/chain.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/float_control.h"
#include "base/in_quotes.h"
#include "base/math.h"
#include "sampling/draw.h"
#include "sampling/mass.h"
#include "sampling/params.h"

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

void Chain::reserve(size_t n_history) {
  select_.reserve(n_vocab_);
  bool edits = false;
  for (const auto& step : steps_) {
    step->reserve(candidates_.scratch, n_history);
    edits |= step->only_edits();
  }
  if (edits) row_.reserve(n_vocab_);
  size_t n = 0;
  if (params_.logprobs > 0)
    n = RowSelect::most_candidates(n_vocab_, static_cast<uint32_t>(params_.logprobs));
  if (!greedy_) {
    // what the list of candidates begins with: the k best where nothing but edits of the row comes before that cut
    const auto cut = std::find_if(steps_.begin(), steps_.end(),
                                  [](const auto& step) { return !step->only_edits(); });
    const uint32_t k = cut != steps_.end() ? (*cut)->row_rule().best : 0;
    n = std::max(n, k > 0 ? RowSelect::most_candidates(n_vocab_, k) : size_t{n_vocab_});
  }
  candidates_.items.reserve(n);
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

std::optional<Chain::Cooling> Chain::draws_from_row(size_t next_step) const {
  if (next_step == steps_.size()) return Cooling{0, 1};
  const RowRule rule = steps_[next_step]->row_rule();
  if (next_step + 1 < steps_.size() || !rule.temperature) return std::nullopt;
  return Cooling{select_.max(), *rule.temperature};
}

bool Chain::list_candidates(std::span<const float> row, size_t next_step) {
  const RowRule rule = next_step < steps_.size() ? steps_[next_step]->row_rule() : RowRule{};
  candidates_.sorted = false;
  if (rule.best > 0) {
    select_.best(row, rule.best, candidates_.items);
    candidates_.sorted = true;
  } else if (rule.within) {
    select_.within(row, *rule.within, candidates_.items);
  } else if (rule.share) {
    list_share(row, *rule.share);
  } else {
    select_.all(row, candidates_.items);
    return false;
  }
  return true;
}

// Masses end 28 below the maximum, so the loop ends there at the latest.
void Chain::list_share(std::span<const float> row, double share) {
  auto& items = candidates_.items;
  const float max = select_.max();
  const double target = share * static_cast<double>(total_mass(row, max));
  float depth = 1;
  do {
    depth += 3;
    select_.within(row, -depth, items);
  } while (static_cast<double>(total_mass(items, max)) < target);
  const auto below_max = [=](const Candidate& c) { return max - c.logit; };
  keep_target_mass(items, false, max, target, below_max, better);
}

// Leaves select_ with the row's scan, for sample().
Status Chain::check(std::span<const float> logits, uint32_t position,
                    std::span<const float> maxima) {
  if (logits.size() != n_vocab_)
    return error(Code::internal, "%zu logits for a vocabulary of %u", logits.size(), n_vocab_);
  const FloatScope float_control(FloatMode::compute);
  if (select_.scan(logits, maxima)) return {};
  const bool nan = std::any_of(logits.begin(), logits.end(), [](float x) { return x != x; });
  return error(Code::internal, "logits of position %u hold %s, all must be finite or -inf",
               position, nan ? "NaN" : "+inf");
}

Result<Pick> Chain::sample(std::span<const float> logits, const SampleContext& context,
                           std::span<const float> model_logits,
                           std::span<const float> model_maxima) {
  const FloatScope float_control(FloatMode::compute);
  const bool of_model = params_.logprobs > 0 && !params_.logprobs_processed;
  const bool processed = params_.logprobs > 0 && params_.logprobs_processed;
  Pick pick;
  std::optional<Softmax> model_softmax;
  if (of_model) {
    LLMRT_TRY(check(model_logits, context.position, model_maxima));
    if (select_.max() == -kInf) return all_banned(context.position);
    model_softmax = report_row(model_logits, pick);
  }
  const bool edited = model_logits.data() != logits.data();
  if (!of_model || edited)
    LLMRT_TRY(check(logits, context.position, edited ? std::span<const float>() : model_maxima));

  size_t next_step = 0;
  const std::span<const float> row = apply_leading_edits(logits, context, next_step);
  if (select_.max() == -kInf) return all_banned(context.position);
  if (greedy_) {
    pick.id = select_.argmax(row);
    if (processed) pick.logprob = report_row(row, pick).logprob(row[static_cast<size_t>(pick.id)]);
  } else if (const auto whole = processed ? std::nullopt : draws_from_row(next_step)) {
    pick.id = draw(row, select_, whole->max, whole->temperature, context);
  } else {
    if (list_candidates(row, next_step)) ++next_step;
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
