// Sequence: one sample of a request inside the engine. Touched by the owner only.
//
//   queued ----> running ----> done          samples 1 .. n-1 of a request follow sample 0 until its prompt is computed,
//     ^  \        |   ^          ^           then they fork (running) or, without room, queue and find the prompt in the tree
//     |   \       v   |          |
//     |    \   preempted --------+           legal moves: kLegalMoves in sequence.cpp, the only table
//   following ----------------> (running, done)
//
//   tokens    = prompt, then what was drawn; nothing that was emitted is ever taken back
//   kv.computed() < tokens.size() while it lives (the newest token is always still to be computed)
//   vouched  <= kv.computed(): positions whose rows led to finite logits; only those are published
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/engine.h"
#include "engine/stop.h"
#include "kv/sequence_kv.h"
#include "tokenizer/stream_decoder.h"

namespace llmrt {

class RequestImpl;

enum class SeqState : uint8_t { following, queued, running, preempted, done };
const char* name_of(SeqState state);
bool is_legal_move(SeqState from, SeqState to);

// Rows whose logits are asked for instead of tokens (Engine::evaluate).
struct Evaluation {
  uint32_t first = 0;       // first wanted position
  std::span<float> logits;  // [n - first, n_vocab]; alive until the request ended
};

struct Sequence {
  Sequence(std::shared_ptr<RequestImpl> owner, const KvLayout& layout,
           std::vector<std::string> stops)
      : request(std::move(owner)), kv(layout), stop(std::move(stops)) {}

  void move_to(SeqState next);
  bool alive() const { return state != SeqState::done; }
  uint32_t n_generated() const { return static_cast<uint32_t>(tokens.size()) - n_prompt; }

  std::shared_ptr<RequestImpl> request;
  int32_t sample = 0;
  SeqState state = SeqState::queued;
  SequenceKv kv;
  std::vector<Token> tokens;
  uint32_t n_prompt = 0;
  uint32_t n_max = 0;    // tokens it may generate
  uint32_t n_ahead = 0;  // of those, how many it takes the memory for when it is first admitted
  uint32_t vouched = 0;
  uint64_t seed = 0;     // seed_i
  int64_t rank_key = 0;  // submit time less priority * ageing: lower first
  uint64_t order = 0;    // submit order, breaks ties
  bool in_pass = false;  // its blocks and tokens are read by the open pass
  bool was_admitted = false;
  bool end_counted = false;
  uint32_t stuck_steps = 0;
  int64_t last_token_ns = 0;
  StopFilter stop;
  std::optional<StreamDecoder> decoder;
  int32_t pending_tokens = 0;  // drawn since the last text event
};

// Rank order: the one order of PLAN.
inline bool goes_first(const Sequence& a, const Sequence& b) {
  if (a.rank_key != b.rank_key) return a.rank_key < b.rank_key;
  if (a.order != b.order) return a.order < b.order;
  return a.sample < b.sample;
}
void insert_by_rank(std::vector<Sequence*>& list, Sequence& sequence);

}  // namespace llmrt
