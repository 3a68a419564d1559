// RequestImpl: the outside of a request: events, results, how it ends. Any thread; its own lock.
//
// A request ends once, by whoever is first: the owner (all samples finished, an error), cancel() on any thread, or a timeout found by
// the owner or by a thread that waits on it. From then on nothing the engine computes for it is visible. DONE is not an event in the
// queue but the state "ended and drained", so ending never allocates.
//
// An end that comes while on_logits runs for the request is told when the hook has returned: whoever was told may free what the hook
// uses.
//
// With callback delivery a natural end counts once the callbacks before DONE have returned; a callback that blocks longer than
// stall_timeout_ms therefore ends the request with TIMEOUT, while everything else goes on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/function_ref.h"
#include "engine/engine.h"
#include "engine/event_queue.h"
#include "engine/sequence.h"
#include "sampling/chain.h"

namespace llmrt {

struct EngineShared;

// Of a token, twice what is usual: memory that is taken ahead. Longer text takes more as it grows.
inline constexpr size_t kTextBytes = 8;

class RequestImpl final : public Request, public std::enable_shared_from_this<RequestImpl> {
 public:
  RequestImpl(std::shared_ptr<EngineShared> shared, const GenParams& params, uint32_t n_prompt);

  // ---- any thread ----
  Code next(int32_t timeout_ms, Event& out) override;
  Status wait(int32_t timeout_ms) override;
  Status wait_to_end() override;
  void cancel(bool keep_partial) override;
  bool keeps_partial() const override;
  std::string text(int32_t sample) const override;
  std::vector<Token> tokens(int32_t sample) const override;
  Usage usage() const override;
  Status error() const override;
  Finish finish(int32_t sample) const override;
  std::vector<TokenLogprob> logprobs(int32_t sample) const override;

  bool ended() const { return ended_flag_.load(std::memory_order_acquire); }
  // Ended by itself: nothing is computed and no hook is called for it any more.
  bool ended_well() const {
    return ended() && (finish_ == Finish::stop || finish_ == Finish::length);
  }
  // Takes the next event, DONE included. ok, pending or end; out_of_memory: there was none for its text, it waits.
  Code take(Event& out);
  // For Engine::next: takes one event; more: one waits and the request stays listed.
  Code take_listed(Event& out, bool& more);
  // Ends the request if it is older or more silent than it may be.
  void check_timeouts(int64_t now);
  int64_t next_timeout() const;  // INT64_MAX: none
  // An error, a cancellation or a timeout; the first end counts.
  void end(Finish finish, Status status);

  // ---- the owner ----
  // Takes the memory for so many tokens of a sample. What goes beyond takes more: from whoever reads events, and in steps where nobody
  // does.
  void reserve_output(int32_t sample, uint32_t n_tokens, bool has_text);
  struct Drawn {
    Token token = -1;  // -1: none, only text
    std::string_view text;
    int32_t n_tokens = 0;  // tokens behind this text
    bool emit = false;
    const Pick* pick = nullptr;
  };
  // false: the request has ended, nothing was added. std::bad_alloc: nothing was added.
  bool add_token(int32_t sample, const Drawn& drawn);
  void add_progress(int64_t done, int64_t total);
  void finish_sample(int32_t sample, Finish finish);  // the last one ends the request
  // Around on_logits. false: the request has ended, the hook must not be called.
  bool enter_hook();
  void leave_hook();
  template <class F>
  void edit_usage(F&& edit) {
    const std::lock_guard lock(mutex_);
    if (!ended_) edit(usage_);
  }
  // Silence ends now. A token does not count while a callback blocks: the host has not seen it.
  void note_progress() {
    if (!in_callback_.load(std::memory_order_relaxed))
      last_progress_ns_.store(now_ns(), std::memory_order_relaxed);
  }

  // ---- constant ----
  const GenParams params;
  const uint32_t n_prompt;
  uint32_t n_max = 0;  // tokens that each sample may generate
  int64_t submitted_ns = 0;
  std::optional<Evaluation> evaluation;

  // ---- the owner's ----
  std::unique_ptr<Chain> chain;
  uint32_t n_sequences = 0;  // not yet taken apart

  std::shared_ptr<RequestImpl> next_in_queue;  // RequestQueue's link, under the queue's lock

  // ---- CallbackDelivery's ----
  // As take(), but when there is nothing more the request leaves the delivery, in one step with looking. Without memory for an event's
  // text the request ends with OUT_OF_MEMORY.
  Code take_for_delivery(Event& out);
  Event delivered;  // its text's memory is used again; by whoever delivers the request
  void set_in_callback(bool inside);

 private:
  struct SampleOutput {
    std::string text;
    std::vector<Token> tokens;
    std::vector<TokenLogprob> logprobs;
    Finish finish = Finish::none;
  };
  // For a reader that found nothing: steps a host-stepped engine, or sleeps unless ready_locked(). Then look again; false: the deadline
  // has passed, or another thread steps the engine.
  bool await(Deadline deadline, FunctionRef<bool()> ready_locked);
  void end_locked(Finish finish, Status status);
  void mark_ended_locked(Finish finish);
  void tell_end_locked();
  void make_room_locked(SampleOutput& output);
  Code take_locked(Event& out);
  void wake_reader_locked();
  bool readable_locked() const { return !events_.empty() || ended() || natural_end_; }
  Status result_locked() const;
  const SampleOutput* sample_at(int32_t sample) const;

  const std::shared_ptr<EngineShared> shared_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  EventQueue events_;
  std::vector<SampleOutput> samples_;
  Usage usage_;
  Status status_;                 // why it failed
  Finish finish_ = Finish::none;  // of the request
  int32_t n_unfinished_ = 0;
  bool ended_ = false, natural_end_ = false, done_taken_ = false;
  bool in_hook_ = false;
  bool keep_partial_ = false;  // as the cancel() that ended it said
  bool listed_ = false;        // in shared_->ready
  bool in_delivery_ = false;   // in the delivery's queue, or being delivered
  std::atomic<bool> in_callback_{false};
  std::atomic<bool> ended_flag_{false};  // ended_, and told
  std::atomic<int64_t> last_progress_ns_{0};
};

}  // namespace llmrt
