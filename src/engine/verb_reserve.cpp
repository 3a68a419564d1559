// RESERVE: prefix hits attached, blocks taken, shared tails copied. A failure leaves every sequence valid; the plan is made again with
// the smaller number.
#include <new>

#include "engine/step_engine.h"

namespace llmrt {

// At a sequence's first admission: what waits keeps its prompt and little else. False: there is not enough; it keeps what there was for
// the next try.
bool StepEngine::take_memory(Sequence& sequence) {
  RequestImpl& request = *sequence.request;
  const uint32_t longest = sequence.n_prompt + sequence.n_ahead;
  try {
    sequence.kv.reserve_tables(layout_, longest);
    if (request.evaluation) return true;
    sequence.tokens.reserve(longest);
    request.chain->reserve(longest);
    request.reserve_output(sequence.sample, sequence.n_ahead, static_cast<bool>(model_.tokenizer));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

Sequence* StepEngine::take_memory_of_admitted() {
  Sequence* without = nullptr;
  for (size_t i = 0; i < pass_.runs.size(); ++i) {
    Sequence& sequence = *pass_.sequences[i];
    if (!pass_.runs[i].admit || sequence.was_admitted) continue;
    if (without && goes_first(*without, sequence)) continue;
    if (!take_memory(sequence)) without = &sequence;
  }
  return without;
}

void StepEngine::admit_planned(int64_t now) {
  for (size_t i = 0; i < pass_.runs.size(); ++i) {
    if (!pass_.runs[i].admit) continue;
    Sequence& sequence = *pass_.sequences[i];
    if (options_.prefix_cache) {
      const PrefixHit& hit = hits_[pass_.runs[i].index];
      cache_->attach(sequence.kv, name_space_, hit);
      if (hit.n_tokens > 0) ++counters_.prefix_hit;
    }
    sequence.vouched = sequence.kv.computed();
    sequence.move_to(SeqState::running);
    if (!sequence.was_admitted && !sequence.request->evaluation) {
      const int64_t waited = now - sequence.request->submitted_ns;
      const std::lock_guard lock(stats_.mutex);
      stats_.queue.record(now, waited);
      stats_.totals.prompt_tokens += sequence.n_prompt;
      stats_.totals.cached_tokens += sequence.kv.computed();
      if (sequence.sample == 0) {
        sequence.request->edit_usage([&](Usage& usage) {
          usage.cached_tokens = static_cast<int32_t>(sequence.kv.computed());
          usage.queue_ms = static_cast<double>(waited) * 1e-6;
        });
      }
    }
    sequence.was_admitted = true;
    insert_by_rank(running_, sequence);
  }
  std::erase_if(waiting_,
                [](const Sequence* sequence) { return sequence->state == SeqState::running; });
}

void StepEngine::make_room(uint32_t n_blocks) {
  if (pool_->n_usable() < n_blocks) cache_->evict(n_blocks - pool_->n_usable());
}

Status StepEngine::reserve(Sequence*& failed) {
  for (size_t i = 0; i < pass_.runs.size(); ++i) {
    Sequence& sequence = *pass_.sequences[i];
    const uint32_t end = pass_.runs[i].first + pass_.runs[i].count;
    make_room(sequence.kv.blocks_missing(*pool_, end));
    failed = &sequence;
    try {
      LLMRT_ASSIGN(const uint32_t n_copied, sequence.kv.reserve(*pool_, end));
      counters_.copy_on_write += n_copied;
    } catch (
        const std::bad_alloc&) {  // its tables grow where an answer is longer than was foreseen
      end_without_memory(sequence, "the block tables");
      return Status(Code::out_of_memory);
    }
    sequence.stuck_steps = 0;
  }
  return {};
}

}  // namespace llmrt
