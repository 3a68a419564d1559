#include "toy_fuzz.h"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "../support/counters.h"
#include "../support/toy_backend.h"

// Returns what is wrong to the caller.
#define LLMRT_FUZZ_TRY(expr)                                   \
  do {                                                         \
    if (std::string bad_ = (expr); !bad_.empty()) return bad_; \
  } while (0)

namespace llmrt::test {
namespace {

struct Submitted {
  RequestPtr request;
  std::vector<Token> prompt;
  GenParams params;
  bool cancelled = false, done_seen = false;
  int32_t events_tokens = 0, samples_done = 0;
};

class Schedule {
 public:
  Schedule(uint64_t seed, FuzzTotals& totals, bool plant_wrong_slot)
      : random_(seed), totals_(totals) {
    const std::vector<std::vector<uint32_t>> kinds = {{0},  {0, 20},    {0, 40, 7},
                                                      {24}, {0, 0, 33}, {50, 0}};
    toy_.windows = kinds[pick(static_cast<uint32_t>(kinds.size()))];
    model_ = make_toy_model(toy_);
    model_.backend->chunk_units = 1 + pick(30);
    model_.backend->plant_wrong_slot = plant_wrong_slot;
    EngineOptions options;
    options.host_stepped = true;
    options.block_tokens = 16;
    options.ctx_tokens = 192;
    options.max_running = 1 + pick(6);
    options.max_batch = std::max(options.max_running, 8 + pick(60));
    options.prefill_chunk = pick(3) == 0 ? 1 + pick(40) : 0;
    options.prefix_cache = pick(8) != 0;
    options.batching = pick(10) == 0 ? Batching::static_batch : Batching::continuous;
    // from hardly more than one request needs to room for all
    const auto groups = static_cast<int64_t>(toy_.windows.size());
    const int64_t n_blocks = groups * (12 + (pick(3) == 0 ? pick(40) : pick(8)));
    options.kv_budget = (n_blocks + 2) * 256;
    if (pick(12) == 0) model_.backend->commit_limit = 2 + n_blocks * 3 / 4;
    commit_faults_ = pick(4) == 0;
    device_faults_ = pick(12) == 0;
    engine_ = Engine::create(model_.model, options).value();
  }

  std::string run() {
    const uint32_t n_requests = 4 + pick(6);
    uint32_t steps = 0;
    while (all_.size() < n_requests || steps < 40) {
      const uint32_t what = pick(100);
      if (what < 12 && all_.size() < n_requests)
        submit();
      else if (what < 16 && !all_.empty())
        cancel();
      else if (what < 17)
        trim();
      else if (what < 18)
        pause();
      else if (what < 19)
        LLMRT_FUZZ_TRY(evaluate());
      else if (what < 22)
        faults();
      LLMRT_FUZZ_TRY(step(pick(30) == 0 ? 1 + pick(20) : 0));
      if (pick(4) == 0) read_events();
      ++steps;
    }
    // liveness: everyone finishes within a bound far above the work there is
    for (uint32_t i = 0;; ++i) {
      if (i == 2'000'000) return "no end after 2000000 steps";
      if (pick(200) == 0) cancel();
      const Code code =
          engine_->step(pick(20) == 0 ? 1 + static_cast<int32_t>(pick(20)) : 0).code();
      if (i % 7 == 0) LLMRT_FUZZ_TRY(check());
      if (code == Code::ok) break;
    }
    LLMRT_FUZZ_TRY(check());
    return finish();
  }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  void submit() {
    Submitted s;
    s.prompt.resize(1 + pick(90));
    const uint32_t family = pick(3), fork_at = pick(100);
    for (uint32_t i = 0; i < s.prompt.size(); ++i)
      s.prompt[i] = static_cast<Token>(i < fork_at ? (family * 17 + i * 5) % toy_.n_vocab
                                                   : pick(toy_.n_vocab));
    s.params.max_tokens = pick(12) == 0 ? 0 : 1 + static_cast<int32_t>(pick(60));
    s.params.n = pick(4) == 0 ? 2 + static_cast<int32_t>(pick(3)) : 1;
    s.params.seed = static_cast<int64_t>(pick(1000));
    s.params.priority = static_cast<int32_t>(pick(7)) - 3;
    if (pick(3) == 0) s.params.sampling.temperature = 0;
    if (pick(3) == 0) s.params.sampling.repeat_penalty = 1.3f;
    auto request = engine_->submit(s.prompt, s.params);
    if (!request.ok()) {  // larger than this pool
      ++refused_;
      return;
    }
    s.request = std::move(request).value();
    all_.push_back(std::move(s));
  }

  void cancel() {
    if (all_.empty()) return;
    Submitted& s = all_[pick(static_cast<uint32_t>(all_.size()))];
    s.request->cancel(true);
    s.cancelled = true;
  }

  void trim() {
    (void)engine_->trim(1 + static_cast<int32_t>(pick(3)));
    ++totals_.trims;
  }

  void pause() {
    (void)engine_->pause();
    (void)engine_->step(0);
    (void)engine_->resume();
    ++totals_.pauses;
  }

  void faults() {
    if (commit_faults_) {
      const uint32_t n = 1 + pick(2);
      model_.backend->fail_commits = n;
      model_.backend->starve_passes = n;
      starved_ += n;
    }
    if (device_faults_ && pick(3) == 0) model_.backend->fail_passes = 1;
    if (device_faults_ && pick(3) == 0) model_.backend->fail_copies = 1;
  }

  std::string evaluate() {
    std::vector<Token> tokens(2 + pick(60));
    for (Token& t : tokens) t = static_cast<Token>(pick(2));
    const auto first = pick(static_cast<uint32_t>(tokens.size()));
    std::vector<float> logits((tokens.size() - first) * toy_.n_vocab);
    const Status status = engine_->evaluate(tokens, first, logits);
    if (!status.ok()) {
      if (status.code() == Code::memory_budget || may_fail(status.code())) return "";
      return "evaluate: " + std::string(status.message());
    }
    ++totals_.evaluations;
    ToyOracle oracle(toy_, {});
    for (uint32_t i = 0; i < tokens.size(); ++i) {
      oracle.push(tokens[i]);
      if (i >= first && !std::equal(oracle.logits().begin(), oracle.logits().end(),
                                    logits.begin() + (i - first) * toy_.n_vocab))
        return "evaluate: other logits at position " + std::to_string(i);
    }
    return "";
  }

  std::string step(uint32_t budget_us) {
    (void)engine_->step(static_cast<int32_t>(budget_us));
    ++totals_.steps;
    return check();
  }

  std::string check() {
    if (Status status = engine_->validate(); !status.ok()) return std::string(status.message());
    if (model_.backend->violations != 0) return "the backend was called outside its contract";
    return "";
  }

  void read_events() {
    for (Submitted& s : all_) read(s);
  }
  void read(Submitted& s) {
    Event event;
    Code code;
    while ((code = s.request->next(0, event)) == Code::ok) {
      if (s.done_seen) bad_events_ = "an event after DONE";
      if (event.type == EventType::text) s.events_tokens += event.n_tokens;
      if (event.type == EventType::sample_done) ++s.samples_done;
      if (event.type == EventType::done) s.done_seen = true;
    }
    if (s.done_seen != (code == Code::end)) bad_events_ = "END without DONE";
  }

  bool may_fail(Code code) const {
    // Eight passes without memory and none done between them end a request: cuts of small budgets make that come about.
    if (code == Code::out_of_memory) return model_.backend->commit_limit >= 0 || starved_ >= 8;
    return code == Code::device && device_faults_;
  }

  std::string finish() {
    read_events();
    if (!bad_events_.empty()) return bad_events_;
    for (Submitted& s : all_) {
      ++totals_.requests;
      const Status status = s.request->wait(0);
      if (status.code() == Code::pending) return "a request did not end";
      if (!s.done_seen) return "no DONE was read";
      if (status.code() == Code::cancelled)
        ++totals_.cancelled;
      else if (status.code() == Code::out_of_memory)
        ++totals_.out_of_memory;
      else if (status.code() == Code::device)
        ++totals_.device_errors;
      else if (status.ok())
        ++totals_.finished;
      if (status.failed() && !(status.code() == Code::cancelled && s.cancelled) &&
          !may_fail(status.code()))
        return "a request failed: " + std::string(status.message());
      if (status.ok() && s.samples_done != s.params.n) return "not every sample said it was done";
      int32_t n_tokens = 0;
      for (int32_t i = 0; i < s.params.n; ++i) {
        const auto tokens = s.request->tokens(i);
        n_tokens += static_cast<int32_t>(tokens.size());
        const auto want =
            toy_generate(toy_, s.prompt, s.params.sampling,
                         mix_seed(static_cast<uint64_t>(s.params.seed), static_cast<uint32_t>(i)),
                         static_cast<uint32_t>(tokens.size()));
        if (status.ok() && tokens.size() != static_cast<size_t>(s.params.max_tokens))
          return "a finished sample has " + std::to_string(tokens.size()) + " tokens";
        if (tokens != want) {
          const auto at =
              std::mismatch(tokens.begin(), tokens.end(), want.begin()).first - tokens.begin();
          return "sample " + std::to_string(i) + " has another token " + std::to_string(at) +
                 " than the request alone";
        }
      }
      totals_.tokens += n_tokens;
      if (status.ok() && s.events_tokens != n_tokens)
        return "events told of " + std::to_string(s.events_tokens) + " of " +
               std::to_string(n_tokens) + " tokens";
    }
    add_counters(totals_.events, engine_->counters());
    ++totals_.schedules;
    if (engine_->metrics().kv_used != 0) return "blocks are held after everyone finished";
    return "";
  }

  std::mt19937_64 random_;
  FuzzTotals& totals_;
  ToyOptions toy_;
  ToyModel model_;
  bool commit_faults_ = false, device_faults_ = false;
  uint32_t starved_ = 0;  // passes
  uint32_t refused_ = 0;
  std::string bad_events_;
  std::vector<Submitted> all_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace

std::string run_toy_schedule(uint64_t seed, FuzzTotals& totals, bool plant_wrong_slot) {
  Schedule schedule(seed, totals, plant_wrong_slot);
  const std::string bad = schedule.run();
  return bad.empty() ? bad : "seed " + std::to_string(seed) + ": " + bad;
}

std::string summary(const FuzzTotals& t) {
  std::string out;
  const auto add = [&](const char* name, int64_t n) {
    out += std::string(out.empty() ? "" : " ") + name + "=" + std::to_string(n);
  };
  add("schedules", t.schedules);
  add("steps", t.steps);
  add("requests", t.requests);
  add("finished", t.finished);
  add("tokens", t.tokens);
  add("cancelled", t.cancelled);
  add("out_of_memory", t.out_of_memory);
  add("device_errors", t.device_errors);
  add("evaluations", t.evaluations);
  for (const EngineEvent& e : kEngineEvents) add(e.name, t.events.*e.count);
  return out;
}

const char* missing_event(const FuzzTotals& t) {
  for (const EngineEvent& e : kEngineEvents)
    if (t.events.*e.count == 0) return e.name;
  return nullptr;
}

}  // namespace llmrt::test
