// Submit: what may come in. Everything is checked here, before a request exists; then it waits in the inbox.
#include <algorithm>
#include <string>
#include <utility>

#include "engine/engine_front.h"
#include "engine/limits.h"

namespace llmrt {
namespace {

constexpr int64_t kAgeingNs = 1'000'000'000;  // one second of waiting is worth one step of priority
// Priorities beyond count as this: nobody waits behind others for more than two minutes.
constexpr int32_t kPriorityLimit = 60;
// Of all samples of a request together, what is taken ahead of their tokens; and tokens that each has memory for in any case.
constexpr uint64_t kMostAheadBytes = uint64_t{1} << 20;
constexpr uint32_t kLeastAhead = 256;

// Not secret, only different each time.
int64_t random_seed(uint64_t salt) {
  return static_cast<int64_t>(
      mix_seed(static_cast<uint64_t>(now_ns()) ^ (salt * 0x9e3779b97f4a7c15ull), 7) >> 1);
}

Status check_stops(const std::vector<std::string>& stops) {
  if (stops.size() > limits::kMostStops)
    return refuse("stop", std::to_string(stops.size()) + " strings",
                  "at most " + std::to_string(limits::kMostStops));
  for (const std::string& stop : stops)
    if (stop.empty() || stop.size() > limits::kLongestStop)
      return refuse("stop", "a string of " + std::to_string(stop.size()) + " bytes",
                    "1 to " + std::to_string(limits::kLongestStop));
  return {};
}

// Tokens of a sample for which memory is taken when it is first admitted (StepEngine::take_memory). Longer answers grow by doubling.
uint32_t tokens_ahead(uint32_t n_max, const GenParams& params, const KvLayout& layout,
                      bool has_text) {
  uint64_t bytes = 2 * sizeof(Token);  // the sequence's and the request's
  if (has_text) bytes += kTextBytes;
  if (params.sampling.logprobs > 0) bytes += sizeof(TokenLogprob);
  bytes += (layout.n_groups() * sizeof(BlockId) + layout.block_tokens - 1) / layout.block_tokens;
  const uint64_t most = kMostAheadBytes / (static_cast<uint64_t>(params.n) * bytes);
  return static_cast<uint32_t>(std::min<uint64_t>(n_max, std::max<uint64_t>(most, kLeastAhead)));
}

}  // namespace

Status EngineImpl::check_prompt(std::span<const Token> prompt) const {
  if (prompt.empty())
    return refuse("prompt", "0 tokens", "1 to " + std::to_string(options_.ctx_tokens));
  const auto n_vocab = static_cast<Token>(model_->def.program.n_vocab);
  for (size_t i = 0; i < prompt.size(); ++i) {
    if (prompt[i] < 0 || prompt[i] >= n_vocab)
      return error(Code::invalid_argument, "token %zu of the prompt is %d; allowed: 0 to %d", i,
                   prompt[i], n_vocab - 1)
          .at("tokens");
  }
  if (prompt.size() > options_.ctx_tokens)
    return prompt_too_long(prompt.size(), options_.ctx_tokens);
  return {};
}

// How many tokens the request may add. It fits the context and the KV pool, or is refused here and not later.
Result<uint32_t> EngineImpl::most_new_tokens(size_t n_prompt, const GenParams& params) const {
  const uint32_t n = static_cast<uint32_t>(n_prompt), room = options_.ctx_tokens - n;
  uint32_t most = 0;
  if (params.max_tokens < 0) {
    most = std::min(room, longest_sequence_ - std::min(longest_sequence_, n));
  } else {
    most = static_cast<uint32_t>(params.max_tokens);
    if (most > room && (options_.overflow == Overflow::error || room == 0))
      return error(Code::context_full,
                   "%u prompt tokens and %u new ones are %llu, the context holds %u; lower "
                   "max_tokens or raise ctx_tokens",
                   n, most, static_cast<unsigned long long>(n) + most, options_.ctx_tokens)
          .at("ctx_tokens");
    most = std::min(most, room);
  }
  const KvLayout& layout = steps_->layout();
  const uint32_t longest = n + (params.max_tokens < 0 ? std::max(most, 1u) : most);
  if (const uint64_t blocks = layout.worst_blocks(longest, 1); blocks > layout.capacity())
    return error(Code::memory_budget, "%u tokens need %llu KV blocks, the engine has %u", longest,
                 static_cast<unsigned long long>(blocks), layout.capacity())
        .at("kv_budget");
  if (params.max_tokens < 0 && most == 0)
    return error(Code::context_full,
                 "the prompt's %u tokens fill the context of %u: there is no room for an answer; "
                 "raise ctx_tokens",
                 n, options_.ctx_tokens)
        .at("ctx_tokens");
  return most;
}

Status EngineImpl::check_params(const GenParams& params) const {
  LLMRT_TRY(check(limits::kSamples, params.n));
  LLMRT_TRY(check(limits::kMaxTokens, params.max_tokens));
  LLMRT_TRY(check(limits::kSeed, params.seed));
  LLMRT_TRY(check(limits::kTimeoutMs, params.timeout_ms));
  LLMRT_TRY(check(limits::kStallTimeoutMs, params.stall_timeout_ms));
  LLMRT_TRY(check_stops(params.stop));
  if (!params.stop.empty() && !model_->tokenizer)
    return error(Code::unsupported, "stop strings need a tokenizer, the model has none").at("stop");
  if (params.delivery == Delivery::callback && !params.on_event)
    return error(Code::invalid_argument, "delivery is 2 (callback) but on_event is NULL")
        .at("on_event");
  return {};
}

std::span<const TokenBytes> EngineImpl::token_bytes() {
  if (!model_->tokenizer || model_->tokenizer->n_vocab() != model_->def.program.n_vocab) return {};
  std::call_once(token_bytes_once_, [this] {
    token_bytes_.reserve(model_->tokenizer->n_vocab());
    for (uint32_t id = 0; id < model_->tokenizer->n_vocab(); ++id)
      token_bytes_.push_back(model_->tokenizer->token_bytes(static_cast<Token>(id)));
  });
  return token_bytes_;
}

Result<RequestPtr> EngineImpl::submit(std::vector<Token> prompt, const GenParams& params) {
  LLMRT_TRY(check_prompt(prompt));
  LLMRT_TRY(check_params(params));
  LLMRT_ASSIGN(const uint32_t n_max, most_new_tokens(prompt.size(), params));
  LLMRT_ASSIGN(auto chain,
               Chain::make(params.sampling, model_->def.program.n_vocab,
                           params.sampling.dry_multiplier != 0 ? token_bytes()
                                                               : std::span<const TokenBytes>()));
  {
    const std::lock_guard lock(shared_->mutex);
    LLMRT_TRY(refuse_if_full_locked());  // before it takes memory
  }
  const auto n_prompt = static_cast<uint32_t>(prompt.size());
  GenParams fixed = params;
  if (fixed.seed < 0) fixed.seed = random_seed(reinterpret_cast<uintptr_t>(chain.get()));
  auto request = std::make_shared<RequestImpl>(shared_, fixed, n_prompt);
  request->n_max = n_max;
  request->chain = std::move(chain);
  request->edit_usage([&](Usage& usage) { usage.seed = fixed.seed; });

  Submission submission;
  submission.request = request;
  const uint32_t n_ahead =
      tokens_ahead(n_max, params, steps_->layout(), static_cast<bool>(model_->tokenizer));
  const int64_t priority = std::clamp(params.priority, -kPriorityLimit, kPriorityLimit);
  for (int32_t i = 0; i < params.n; ++i) {
    auto sequence = std::make_unique<Sequence>(request, steps_->layout(), params.stop);
    sequence->sample = i;
    sequence->state = i == 0 ? SeqState::queued : SeqState::following;
    sequence->tokens.reserve(n_prompt + 1);  // a sample without a place has its first token early
    sequence->tokens = prompt;
    sequence->n_prompt = n_prompt;
    sequence->n_max = n_max;
    sequence->n_ahead = n_ahead;
    sequence->seed = mix_seed(static_cast<uint64_t>(fixed.seed), static_cast<uint32_t>(i));
    sequence->rank_key = request->submitted_ns - priority * kAgeingNs;
    // the answer goes on behind the prompt: no rule of a text's beginning applies to it
    if (model_->tokenizer) sequence->decoder.emplace(*model_->tokenizer, false, false);
    submission.sequences.push_back(std::move(sequence));
  }
  LLMRT_TRY(enqueue(std::move(submission)));
  return RequestPtr(std::move(request));
}

Status EngineImpl::refuse_if_full_locked() const {
  if (shared_->closed) return error(Code::closed, "the engine is closed");
  const size_t waiting = shared_->inbox.size() + shared_->n_waiting;
  if (waiting < options_.queue_limit) return {};
  return error(Code::queue_full, "%zu requests wait, queue_limit is %u", waiting,
               options_.queue_limit)
      .at("queue_limit");
}

Status EngineImpl::enqueue(Submission submission) {
  const auto request = submission.request;
  {
    const std::lock_guard lock(shared_->mutex);
    LLMRT_TRY(refuse_if_full_locked());
    shared_->inbox.reserve(shared_->inbox.size() + 1);
    shared_->live.push_back(request);
    for (auto& sequence : submission.sequences) sequence->order = shared_->n_submitted;
    ++shared_->n_submitted;
    shared_->inbox.push_back(std::move(submission));
    shared_->wake = true;
  }
  shared_->work.notify_one();
  return {};
}

}  // namespace llmrt
