#include "engine/request.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "base/wait.h"
#include "engine/delivery.h"
#include "engine/shared.h"

namespace llmrt {
namespace {

constexpr int64_t kMsNs = 1'000'000;
// Bytes: more than a token, or a stop string that was held back, adds to a text; more than most events carry.
constexpr size_t kRoomAhead = 2048, kDeliveredText = 256;
// Tokens that a sample may add while its reader looks away for a moment.
constexpr size_t kTokensAhead = 64;

// By doubling, so that there is room for so many more; beyond `most` there will never be any.
template <class List>
void grow_ahead(List& list, size_t room, size_t most = SIZE_MAX) {
  if (list.size() >= most || list.capacity() - list.size() >= std::min(room, most - list.size()))
    return;
  list.reserve(std::min(most, std::max(2 * list.capacity(), list.size() + room)));
}

template <class T>
void make_room_for_one(std::vector<T>& list) {
  if (list.size() == list.capacity()) list.reserve(std::max<size_t>(2 * list.capacity(), 1));
}

}  // namespace

const char* name_of(Finish finish) {
  switch (finish) {
    case Finish::none:
      return "none";
    case Finish::stop:
      return "stop";
    case Finish::length:
      return "length";
    case Finish::cancelled:
      return "cancelled";
    case Finish::timeout:
      return "timeout";
    case Finish::error:
      break;
  }
  return "error";
}

RequestImpl::RequestImpl(std::shared_ptr<EngineShared> shared, const GenParams& gen,
                         uint32_t prompt_tokens)
    : params(gen),
      n_prompt(prompt_tokens),
      shared_(std::move(shared)),
      events_(static_cast<size_t>(gen.n)),
      samples_(static_cast<size_t>(gen.n)),
      n_unfinished_(gen.n) {
  submitted_ns = now_ns();
  last_progress_ns_ = submitted_ns;
  usage_.prompt_tokens = static_cast<int32_t>(prompt_tokens);
  if (params.delivery == Delivery::callback) delivered.text.reserve(kDeliveredText);
}

void RequestImpl::reserve_output(int32_t sample, uint32_t n_tokens, bool has_text) {
  const std::lock_guard lock(mutex_);
  SampleOutput& output = samples_[static_cast<size_t>(sample)];
  output.tokens.reserve(n_tokens);
  if (has_text) output.text.reserve(n_tokens * kTextBytes + kRoomAhead);
  if (params.sampling.logprobs > 0) output.logprobs.reserve(n_tokens);
}

// ---- how it ends ----

void RequestImpl::wake_reader_locked() {
  changed_.notify_all();
  if (params.delivery == Delivery::request_queue || done_taken_) return;
  // request -> mutex of shared or delivery is the allowed order
  if (params.delivery == Delivery::callback) {
    if (in_delivery_) return;
    shared_->delivery->enqueue(shared_from_this());
    in_delivery_ = true;
    return;
  }
  if (listed_) return;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ready.push(shared_from_this());
  }
  listed_ = true;
  shared_->changed.notify_all();
}

void RequestImpl::end_locked(Finish finish, Status status) {
  if (ended_) return;
  status_ = std::move(status);
  for (SampleOutput& sample : samples_) {
    if (sample.finish == Finish::none) sample.finish = finish;
  }
  mark_ended_locked(finish);
}

// The one way to the end.
void RequestImpl::mark_ended_locked(Finish finish) {
  finish_ = finish;
  ended_ = true;
  if (!evaluation) {
    auto& counter = finish == Finish::cancelled                            ? shared_->n_cancelled
                    : finish == Finish::error || finish == Finish::timeout ? shared_->n_failed
                                                                           : shared_->n_done;
    counter.fetch_add(1, std::memory_order_relaxed);
  }
  if (!in_hook_) tell_end_locked();
}

// Whoever sees ended() finds DONE where it is to be read, and the request counted.
void RequestImpl::tell_end_locked() {
  wake_reader_locked();
  ended_flag_.store(true, std::memory_order_release);
}

void RequestImpl::end(Finish finish, Status status) {
  {
    const std::lock_guard lock(mutex_);
    end_locked(finish, std::move(status));
  }
  shared_->notify_owner();
}

void RequestImpl::cancel(bool keep_partial) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) keep_partial_ = keep_partial;
    end_locked(Finish::cancelled, Status());
  }
  shared_->notify_owner();
}

void RequestImpl::check_timeouts(int64_t now) {
  if (ended()) return;
  if (params.timeout_ms > 0 && now - submitted_ns >= params.timeout_ms * kMsNs) {
    end(Finish::timeout,
        llmrt::error(Code::timeout, "the request took longer than its timeout_ms of %d",
                     params.timeout_ms)
            .at("timeout_ms"));
    return;
  }
  if (params.stall_timeout_ms <= 0) return;
  if (shared_->paused.load(std::memory_order_relaxed)) {  // the silence is the host's own
    note_progress();
    return;
  }
  if (now - last_progress_ns_.load(std::memory_order_relaxed) >= params.stall_timeout_ms * kMsNs)
    end(Finish::timeout,
        llmrt::error(Code::timeout, "the request made no progress for its stall_timeout_ms of %d",
                     params.stall_timeout_ms)
            .at("stall_timeout_ms"));
}

int64_t RequestImpl::next_timeout() const {
  const std::lock_guard lock(mutex_);
  int64_t at = INT64_MAX;
  if (ended_) return at;
  if (params.timeout_ms > 0) at = submitted_ns + params.timeout_ms * kMsNs;
  if (params.stall_timeout_ms > 0)
    at = std::min(
        at, last_progress_ns_.load(std::memory_order_relaxed) + params.stall_timeout_ms * kMsNs);
  return at;
}

// ---- the owner's side ----

bool RequestImpl::add_token(int32_t sample, const Drawn& drawn) {
  note_progress();
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  SampleOutput& output = samples_[static_cast<size_t>(sample)];
  const bool has_token = drawn.token >= 0;
  const bool has_logprob = has_token && drawn.pick && params.sampling.logprobs > 0;
  TokenLogprob logprob;
  if (has_token) make_room_for_one(output.tokens);
  if (has_logprob) {
    make_room_for_one(output.logprobs);
    logprob = {drawn.pick->logprob, drawn.pick->top};
  }
  if (drawn.emit) output.text.reserve(output.text.size() + drawn.text.size());
  // nothing below allocates
  if (has_logprob) output.logprobs.push_back(std::move(logprob));
  if (has_token) {
    output.tokens.push_back(drawn.token);
    ++usage_.generated_tokens;
  }
  if (!drawn.emit) return true;
  QueuedEvent event;
  event.text_begin = output.text.size();
  event.text_size = drawn.text.size();
  output.text.append(drawn.text);
  event.type = EventType::text;
  event.sample = sample;
  event.token = drawn.n_tokens == 1 ? drawn.token : -1;
  event.n_tokens = drawn.n_tokens;
  event.logprob = drawn.pick ? drawn.pick->logprob : 0;
  events_.push(event);
  wake_reader_locked();
  return true;
}

void RequestImpl::add_progress(int64_t done, int64_t total) {
  note_progress();
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  QueuedEvent event;
  event.type = EventType::progress;
  event.done = done;
  event.total = total;
  events_.push(event);
  wake_reader_locked();
}

void RequestImpl::finish_sample(int32_t sample, Finish finish) {
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  SampleOutput& output = samples_[static_cast<size_t>(sample)];
  QueuedEvent event;
  event.type = EventType::sample_done;
  event.sample = sample;
  event.finish = finish;
  event.n_tokens = static_cast<int32_t>(output.tokens.size());
  events_.push(event);
  output.finish = finish;
  if (--n_unfinished_ > 0) {
    wake_reader_locked();
    return;
  }
  if (params.delivery != Delivery::callback) {
    end_locked(samples_[0].finish, Status());
    return;
  }
  natural_end_ = true;  // counts once the callbacks have returned: take()
  wake_reader_locked();
}

bool RequestImpl::enter_hook() {
  const std::lock_guard lock(mutex_);
  in_hook_ = !ended_;
  return in_hook_;
}

void RequestImpl::leave_hook() {
  const std::lock_guard lock(mutex_);
  in_hook_ = false;
  if (ended_) tell_end_locked();
}

// ---- reading ----

Code RequestImpl::take(Event& out) {
  const std::lock_guard lock(mutex_);
  return take_locked(out);
}

Code RequestImpl::take_listed(Event& out, bool& more) {
  const std::lock_guard lock(mutex_);
  const Code code = take_locked(out);
  more = code == Code::out_of_memory || (code == Code::ok && !done_taken_ && readable_locked());
  listed_ = more;
  return code;
}

Code RequestImpl::take_for_delivery(Event& out) {
  const std::lock_guard lock(mutex_);
  Code code = take_locked(out);
  if (code == Code::out_of_memory) {
    events_.drop_text();  // so the next one, DONE at last, takes no memory
    end_locked(Finish::error, llmrt::error(Code::out_of_memory,
                                           "no memory to hand on_event the text of an event"));
    code = take_locked(out);
  }
  if (code != Code::ok) in_delivery_ = false;
  return code;
}

void RequestImpl::set_in_callback(bool inside) {
  if (inside) note_progress();
  in_callback_.store(inside, std::memory_order_relaxed);
  if (!inside) note_progress();
}

// Who reads makes room for what is to come, so that steps need not.
void RequestImpl::make_room_locked(SampleOutput& output) {
  try {
    if (!output.text.empty()) grow_ahead(output.text, kRoomAhead);
    grow_ahead(output.tokens, kTokensAhead, n_max);
    if (params.sampling.logprobs > 0) grow_ahead(output.logprobs, kTokensAhead, n_max);
  } catch (const std::bad_alloc&) {  // then the step that needs it asks again
  }
}

Code RequestImpl::take_locked(Event& out) {
  if (!events_.empty()) {
    const QueuedEvent& next = events_.front();
    SampleOutput& output = samples_[static_cast<size_t>(next.sample)];
    try {
      out.text.assign(output.text, next.text_begin, next.text_size);
    } catch (const std::bad_alloc&) {
      return Code::out_of_memory;
    }
    if (next.type == EventType::text && output.finish == Finish::none) make_room_locked(output);
    static_cast<EventHead&>(out) = next;
    out.error = Code::ok;
    out.tag = params.tag;
    events_.pop();
    return Code::ok;
  }
  if (natural_end_ && !ended_) mark_ended_locked(samples_[0].finish);
  if (!ended()) return Code::pending;
  if (done_taken_) return Code::end;
  done_taken_ = true;
  out.text.clear();
  out.type = EventType::done;
  out.sample = 0;
  out.token = -1;
  out.logprob = 0;
  out.done = out.total = 0;
  out.finish = finish_;
  out.error = finish_ == Finish::cancelled ? Code::cancelled : status_.code();
  out.n_tokens = usage_.generated_tokens;
  out.tag = params.tag;
  return Code::ok;
}

Code RequestImpl::next(int32_t timeout_ms, Event& out) {
  if (params.delivery != Delivery::request_queue) return ended() ? Code::end : Code::pending;
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  for (;;) {
    if (const Code code = take(out); code != Code::pending) return code;
    if (!await(deadline, [this] { return readable_locked(); })) return Code::pending;
  }
}

Status RequestImpl::wait(int32_t timeout_ms) {
  const Deadline deadline = Deadline::after_ms(timeout_ms);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (ended()) return result_locked();
    }
    if (!await(deadline, [this] { return ended(); })) return Status(Code::pending);
  }
}

Status RequestImpl::wait_to_end() {
  for (;;) {
    Status status = wait(-1);
    if (status.code() != Code::pending) return status;
    std::unique_lock lock(mutex_);
    if (!ended()) wait_until(changed_, lock, {now_ns() + kIdleSliceNs});
  }
}

bool RequestImpl::await(Deadline deadline, FunctionRef<bool()> ready_locked) {
  if (deadline.passed()) return false;
  const int64_t now = now_ns();
  check_timeouts(now);
  if (ended()) return true;
  Deadline wake = earlier(deadline, {next_timeout()});
  if (shared_->host_stepped) {
    const PumpResult result = shared_->pump(deadline);
    if (result != PumpResult::idle) return result == PumpResult::ran;
    wake = earlier(wake, {now + kIdleSliceNs});
  }
  std::unique_lock lock(mutex_);
  if (!ready_locked()) wait_until(changed_, lock, wake);
  return true;
}

Status RequestImpl::result_locked() const {
  switch (finish_) {
    case Finish::cancelled:
      return Status(Code::cancelled);
    case Finish::timeout:
    case Finish::error:
      return status_;
    default:
      return {};
  }
}

const RequestImpl::SampleOutput* RequestImpl::sample_at(int32_t sample) const {
  return sample >= 0 && static_cast<size_t>(sample) < samples_.size()
             ? &samples_[static_cast<size_t>(sample)]
             : nullptr;
}

std::string RequestImpl::text(int32_t sample) const {
  const std::lock_guard lock(mutex_);
  const SampleOutput* output = sample_at(sample);
  return output ? output->text : std::string();
}
std::vector<Token> RequestImpl::tokens(int32_t sample) const {
  const std::lock_guard lock(mutex_);
  const SampleOutput* output = sample_at(sample);
  return output ? output->tokens : std::vector<Token>();
}
std::vector<TokenLogprob> RequestImpl::logprobs(int32_t sample) const {
  const std::lock_guard lock(mutex_);
  const SampleOutput* output = sample_at(sample);
  return output ? output->logprobs : decltype(output->logprobs)();
}
Finish RequestImpl::finish(int32_t sample) const {
  const std::lock_guard lock(mutex_);
  const SampleOutput* output = sample_at(sample);
  return output ? output->finish : Finish::none;
}
Usage RequestImpl::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}
bool RequestImpl::keeps_partial() const {
  const std::lock_guard lock(mutex_);
  return keep_partial_;
}
Status RequestImpl::error() const {
  const std::lock_guard lock(mutex_);
  return ended() ? result_locked() : Status();
}

}  // namespace llmrt
