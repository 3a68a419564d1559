// COMMIT: the only place where a pass becomes visible: lengths, the prefix tree, tokens, text, events, ends.
#include <algorithm>
#include <new>

#include "engine/step_engine.h"

namespace llmrt {

void StepEngine::commit() {
  const int64_t now = now_ns();
  uint32_t out = 0;
  for (uint32_t i = 0; i < pass_.runs.size(); ++i) {
    const PlanRun& run = pass_.runs[i];
    Sequence& sequence = *pass_.sequences[i];
    const uint32_t first_out = out;
    out += run.want == RowWant::all ? run.count : run.want == RowWant::last ? 1 : 0;
    if (sequence.request->ended()) continue;  // its rows were computed and are ignored
    sequence.kv.commit(run.first + run.count);
    if (sequence.request->evaluation) {
      commit_evaluation(sequence, run, first_out);
      continue;
    }
    commit_run(i, now);
  }
}

void StepEngine::commit_run(uint32_t i, int64_t now) {
  const PlanRun& run = pass_.runs[i];
  Sequence& sequence = *pass_.sequences[i];
  if (run.want == RowWant::none) {
    ++counters_.chunk_border;
    if (sequence.n_generated() == 0)
      sequence.request->add_progress(sequence.kv.computed(), sequence.n_prompt);
    counters_.window_slide += sequence.kv.slide(*pool_);
    return;
  }
  // the row's logits hold no NaN and no +inf: everything up to it is fit for others
  sequence.vouched = sequence.kv.computed();
  if (options_.prefix_cache) cache_->publish(sequence.kv, sequence.tokens, sequence.vouched);
  counters_.window_slide += sequence.kv.slide(*pool_);
  if (sequence.request->params.n > 1 && sequence.n_generated() == 0) fork_followers(sequence);
  for (size_t c = 0; c < choices_.size(); ++c) {
    Sequence* chosen = choices_[c].sequence;
    if (chosen == &sequence ||
        (chosen->request == sequence.request && chosen->sample > 0 && sequence.sample == 0 &&
         chosen->n_generated() == 0 && !chosen->in_pass))
      accept(*chosen, choices_[c].pick, now);
  }
}

// Samples 1 .. n-1 start from the prompt's blocks. Without a free place or memory they queue, and find the prompt in the tree.
void StepEngine::fork_followers(Sequence& leader) {
  for (const auto& follower : sequences_) {
    if (follower->request != leader.request || follower->state != SeqState::following) continue;
    Sequence& s = *follower;
    const bool room = running_.size() < options_.max_running && take_memory(s);
    if (room) {
      leader.kv.fork_to(*pool_, s.kv);
      s.vouched = leader.vouched;
      s.was_admitted = true;
      ++counters_.fork;
    }
    s.move_to(room ? SeqState::running : SeqState::queued);
    insert_by_rank(room ? running_ : waiting_, s);
  }
}

void StepEngine::accept(Sequence& sequence, const Pick& pick, int64_t now) {
  try {
    accept_or_throw(sequence, pick, now);
  } catch (const std::bad_alloc&) {
    end_without_memory(sequence, "another token");
  }
}

void StepEngine::accept_or_throw(Sequence& sequence, const Pick& pick, int64_t now) {
  RequestImpl& request = *sequence.request;
  if (!sequence.alive() || request.ended()) return;
  if (sequence.n_max == 0) {
    finish_sequence(sequence, Finish::length);
    return;
  }
  if (sequence.sample == 0 && sequence.n_generated() == 0) {
    request.edit_usage([&](Usage& usage) {
      usage.ttft_ms = static_cast<double>(now - request.submitted_ns) * 1e-6;
      usage.prefill_ms = usage.ttft_ms - usage.queue_ms;
    });
  }
  if (model_.tokenizer && !request.params.ignore_eos &&
      model_.tokenizer->is_end_of_generation(pick.id)) {
    finish_sequence(sequence, Finish::stop);
    return;
  }
  sequence.tokens.push_back(pick.id);
  ++sequence.pending_tokens;
  bool stopped = false;
  text_scratch_.clear();
  if (sequence.decoder) {
    piece_scratch_.clear();
    sequence.decoder->push(pick.id, piece_scratch_);
    stopped = sequence.stop.push(piece_scratch_, text_scratch_);
  }
  RequestImpl::Drawn drawn;
  drawn.token = pick.id;
  drawn.pick = &pick;
  drawn.text = text_scratch_;
  drawn.emit = !sequence.decoder || !text_scratch_.empty();
  drawn.n_tokens = sequence.pending_tokens;
  if (drawn.emit) sequence.pending_tokens = 0;
  if (!request.add_token(sequence.sample, drawn)) return;
  {
    const std::lock_guard lock(stats_.mutex);
    if (sequence.n_generated() > 1)
      stats_.itl.record(now, now - sequence.last_token_ns);
    else if (sequence.sample == 0)
      stats_.ttft.record(now, now - request.submitted_ns);
    ++stats_.totals.generated_tokens;
  }
  sequence.last_token_ns = now;
  if (stopped)
    finish_sequence(sequence, Finish::stop);
  else if (sequence.n_generated() >= sequence.n_max)
    finish_sequence(sequence, Finish::length);
}

void StepEngine::finish_sequence(Sequence& sequence, Finish finish) {
  const std::shared_ptr<RequestImpl> request = sequence.request;
  if (sequence.decoder) {
    piece_scratch_.clear();
    text_scratch_.clear();
    sequence.decoder->finish(piece_scratch_);
    if (sequence.stop.push(piece_scratch_, text_scratch_))
      finish = Finish::stop;
    else
      sequence.stop.flush(text_scratch_);
    if (!text_scratch_.empty()) {
      RequestImpl::Drawn drawn;
      drawn.text = text_scratch_;
      drawn.n_tokens = sequence.pending_tokens;
      drawn.emit = true;
      request->add_token(sequence.sample, drawn);
    }
  }
  if (sequence.n_max > 0) lengths_.record(sequence.n_generated());
  if (sequence.sample == 0) {
    request->edit_usage([&](Usage& usage) {
      usage.decode_ms = std::max(
          0.0, static_cast<double>(now_ns() - request->submitted_ns) * 1e-6 - usage.ttft_ms);
    });
  }
  retire(sequence);  // the pass is over: its blocks go back before anyone hears of the end
  request->finish_sample(sequence.sample, finish);
}

void StepEngine::commit_evaluation(Sequence& sequence, const PlanRun& run, uint32_t first_out) {
  const std::shared_ptr<RequestImpl> request = sequence.request;
  const Evaluation& evaluation = *request->evaluation;
  if (run.want == RowWant::all) {
    const size_t n_vocab = model_.def.program.n_vocab;
    // under the request's lock: once it has ended, the caller's memory may be gone
    request->edit_usage([&](Usage&) {
      for (uint32_t r = 0; r < run.count; ++r) {
        const std::span<const float> logits = runner_->logits(first_out + r);
        std::copy(logits.begin(), logits.end(),
                  evaluation.logits.begin() +
                      static_cast<std::ptrdiff_t>((run.first + r - evaluation.first) * n_vocab));
      }
    });
  }
  request->note_progress();
  if (sequence.kv.computed() == sequence.tokens.size()) {
    retire(sequence);
    request->finish_sample(0, Finish::stop);
    return;
  }
  counters_.window_slide += sequence.kv.slide(*pool_);
}

}  // namespace llmrt
