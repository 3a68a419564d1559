// validate(): the engine's equations on top of kv's.
//   running + waiting = sequences in those states, both in rank order, without repeats; running <= max_running
//   sequences of a request = its n_sequences; kv.computed < tokens; vouched <= computed; only running sequences hold blocks
//   a sequence is in_pass <=> the open pass names it, and then has its rows reserved
//   tokens a live sample emitted = tokens of its sequence behind the prompt
//   nothing lives <=> no block is held
#include <algorithm>
#include <new>
#include <unordered_map>

#include "engine/step_engine.h"

namespace llmrt {

Status StepEngine::validate() const {
  std::vector<const SequenceKv*> live;
  std::unordered_map<const RequestImpl*, uint32_t> per_request;
  for (const auto& s : sequences_) {
    LLMRT_TRY(validate_sequence(*s));
    if (!s->alive()) continue;
    live.push_back(&s->kv);
    ++per_request[s->request.get()];
  }
  for (const auto& [request, n] : per_request) {
    if (request->n_sequences != n)
      return error(Code::internal, "a request has %u sequences and counts %u", n,
                   request->n_sequences);
  }
  LLMRT_TRY(validate_lists());
  LLMRT_TRY(validate_pass());
  LLMRT_TRY(validate_kv(*pool_, *cache_, live));
  if (live.empty() && pool_->n_held() != 0)
    return error(Code::internal, "nothing lives and %u blocks are held", pool_->n_held());
  return {};
}

void StepEngine::assert_valid() const {
  try {
    LLMRT_ASSERT(validate().ok());
  } catch (const std::bad_alloc&) {  // no memory to look with
  }
}

Status StepEngine::validate_sequence(const Sequence& s) const {
  if (s.state != SeqState::running && s.kv.n_entries() != 0)
    return error(Code::internal, "a %s sequence holds blocks", name_of(s.state));
  if (!s.alive()) return {};
  if (s.kv.computed() >= s.tokens.size())
    return error(Code::internal, "%u of %zu tokens are computed", s.kv.computed(), s.tokens.size());
  if (s.vouched > s.kv.computed())
    return error(Code::internal, "vouched %u > computed %u", s.vouched, s.kv.computed());
  if (s.kv.depth() * layout_.block_tokens > s.vouched)
    return error(Code::internal, "%u blocks are published, %u positions vouched for", s.kv.depth(),
                 s.vouched);
  if (s.request->ended() || s.request->evaluation) return {};
  const std::vector<Token> emitted = s.request->tokens(s.sample);
  // another thread may have ended it meanwhile, which trims its tokens
  if (!std::equal(emitted.begin(), emitted.end(), s.tokens.begin() + s.n_prompt, s.tokens.end()) &&
      !s.request->ended())
    return error(Code::internal, "sample %d emitted %zu tokens, its sequence has %u", s.sample,
                 emitted.size(), s.n_generated());
  return {};
}

Status StepEngine::validate_lists() const {
  size_t n_running = 0, n_waiting = 0;
  for (const auto& s : sequences_) {
    n_running += s->state == SeqState::running;
    n_waiting += s->state == SeqState::queued || s->state == SeqState::preempted;
  }
  if (n_running != running_.size() || n_waiting != waiting_.size())
    return error(Code::internal,
                 "%zu running and %zu waiting sequences, the lists have %zu and %zu", n_running,
                 n_waiting, running_.size(), waiting_.size());
  if (running_.size() > options_.max_running)
    return error(Code::internal, "%zu sequences run, at most %u may", running_.size(),
                 options_.max_running);
  for (const auto* list : {&running_, &waiting_}) {
    for (size_t i = 1; i < list->size(); ++i) {
      if (!goes_first(*(*list)[i - 1], *(*list)[i]))
        return error(Code::internal, "a list of sequences is out of rank order at %zu", i);
    }
  }
  return {};
}

Status StepEngine::validate_pass() const {
  const auto in_pass = [](const auto& s) { return s->in_pass; };
  const auto say = std::count_if(sequences_.begin(), sequences_.end(), in_pass);
  if (say !=
      (pass_.open ? std::count_if(pass_.sequences.begin(), pass_.sequences.end(), in_pass) : 0))
    return error(Code::internal, "%td sequences say they are in the pass", say);
  if (!pass_.open) return {};
  uint32_t rows = 0;
  for (size_t i = 0; i < pass_.runs.size(); ++i) {
    const PlanRun& run = pass_.runs[i];
    rows += run.count;
    if (pass_.sequences[i]->kv.reserved() < run.first + run.count)
      return error(Code::internal, "a pass writes position %u, reserved are %u",
                   run.first + run.count - 1, pass_.sequences[i]->kv.reserved());
    for (size_t j = 0; j < i; ++j) {
      if (pass_.sequences[i] == pass_.sequences[j])
        return error(Code::internal, "a pass has two runs of one sequence");
    }
  }
  if (rows > options_.max_batch)
    return error(Code::internal, "a pass has %u rows, at most %u may be", rows, options_.max_batch);
  return {};
}

}  // namespace llmrt
