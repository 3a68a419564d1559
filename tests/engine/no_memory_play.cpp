#define DOCTEST_CONFIG_DISABLE
#include "no_memory_play.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <utility>

#include "../support/counters.h"
#include "../support/host.h"
#include "../tokenizer/vocabulary.h"
#include "base/check.h"
#include "failing_memory.h"

namespace llmrt::test {
namespace {

enum class Mode { one, some, ten, lasting };
constexpr const char* kModeNames[] = {"one", "one of seven", "ten", "all for a while"};
constexpr int kLastingSteps = 300;

struct Answer {
  std::vector<Token> tokens;
  std::string text;
  std::vector<size_t> text_size = {0};  // [tokens so far], without what the end adds
};

struct Submitted {
  const PlannedRequest* plan = nullptr;
  RequestPtr request;
  std::vector<std::string> read;  // [samples], from events
  int n_done = 0, n_samples_done = 0;
  bool late = false;  // an event behind DONE

  void note(const Event& event) {
    late = late || n_done > 0;
    if (event.type == EventType::text) read[static_cast<size_t>(event.sample)] += event.text;
    n_samples_done += event.type == EventType::sample_done;
    n_done += event.type == EventType::done;
  }
};

class Play {
 public:
  Play(const NoMemoryBench& bench, const ToyModel& model, const Schedule& plan)
      : bench_(bench), model_(model), plan_(plan) {
    for (const PlannedRequest& planned : plan.requests) wanted_.push_back(alone(planned));
  }
  // The k-th allocation of steps fails, and what mode says. Empty: all was well.
  std::string run(Mode mode, int64_t k) {
    const auto engine = bench_.engine(plan_.options);
    std::deque<Submitted> all;
    for (const PlannedRequest& planned : plan_.requests) all.emplace_back().plan = &planned;
    failing_memory.fail(k,
                        mode == Mode::one   ? 1
                        : mode == Mode::ten ? 10
                                            : kForEver,
                        mode == Mode::some ? 7 : 1);
    const int32_t budget_us = mode == Mode::lasting && !plan_.first_sample ? -1 : 0;
    for (int step = 0;; ++step) {
      if (step == 100'000) return "no end";
      bool waits = false;
      for (Submitted& s : all) {
        if (!s.request && s.plan->at_step <= step) submit(*engine, s);
        waits = waits || !s.request;
      }
      const Code code = without_exemption([&] { return engine->step(budget_us).code(); });
      if (Status status = engine->validate(); !status.ok()) return std::string(status.message());
      if (model_.backend->violations != 0) return "the backend was called outside its contract";
      if (plan_.is_read) read(*engine, all);
      if (plan_.first_sample && all[0].request->finish(0) != Finish::none)
        all[0].request->cancel(true);
      if (mode == Mode::lasting && step == kLastingSteps) failing_memory.be_back();
      if (code == Code::ok && !waits) break;
    }
    read(*engine, all);
    add_counters(events_, engine->counters());
    return check(mode, *engine, all);
  }

  // Of all runs.
  int64_t n_ended() const { return n_ended_; }  // with OUT_OF_MEMORY
  const EngineCounters& events() const { return events_; }
  std::set<std::string>& sentences() { return sentences_; }
  int64_t kept_bytes() const { return kept_bytes_; }  // of these sentences

 private:
  std::vector<Answer> alone(const PlannedRequest& planned) {
    PlannedRequest quiet = planned;
    quiet.params.delivery = Delivery::request_queue;
    const auto engine = bench_.engine(plan_.options);
    const RequestPtr request = take(engine->submit(quiet.prompt, quiet.params));
    std::vector<Answer> answers(static_cast<size_t>(planned.params.n));
    const auto sample_done = [&] {
      return plan_.first_sample && request->finish(0) != Finish::none;
    };
    for (Code code = Code::pending; code == Code::pending && !sample_done();) {
      code = engine->step(0).code();
      for (int32_t i = 0; i < planned.params.n; ++i) {
        Answer& answer = answers[static_cast<size_t>(i)];
        answer.tokens = request->tokens(i);
        answer.text = request->text(i);
        if (request->finish(i) == Finish::none)
          answer.text_size.resize(answer.tokens.size() + 1, answer.text.size());
        answer.text_size.resize(answer.tokens.size() + 1, answer.text_size.back());
      }
    }
    return answers;
  }

  static void submit(Engine& engine, Submitted& s) {
    GenParams params = s.plan->params;
    params.user = &s;
    if (params.delivery == Delivery::callback)
      params.on_event = [](void* user, const Event& event, Request*) {
        const bool was_exempt = std::exchange(exempt, true);  // the host's memory, not ours
        static_cast<Submitted*>(user)->note(event);
        exempt = was_exempt;
        return 0;
      };
    s.read.resize(static_cast<size_t>(params.n));
    s.request = take(engine.submit(s.plan->prompt, params));
  }

  static void read(Engine& engine, std::deque<Submitted>& all) {
    Event event;
    RequestPtr request;
    while (engine.next(0, event, request) == Code::ok)
      for (Submitted& s : all)
        if (s.request == request) s.note(event);
    for (Submitted& s : all)
      while (s.request && s.request->next(0, event) == Code::ok) s.note(event);
  }

  // What is wrong with a request's end, or nothing.
  std::string check(const Submitted& s, const std::vector<Answer>& wanted, Mode mode) {
    const Status status = s.request->wait(0);
    const bool cut = plan_.first_sample && status.code() == Code::cancelled;
    if (!status.ok() && !cut && status.code() != Code::out_of_memory)
      return "ended with " + std::to_string(static_cast<int>(status.code())) + ", " +
             std::string(status.message());
    if (status.code() == Code::out_of_memory && mode == Mode::one && status.message().empty())
      return "no sentence";
    if (s.n_done != 1 || s.late) return "DONE came " + std::to_string(s.n_done) + " times";
    if (status.ok() && s.n_samples_done != s.plan->params.n) return "a sample did not end";
    int32_t n_tokens = 0;
    for (size_t i = 0; i < s.read.size(); ++i) {
      const auto sample = static_cast<int32_t>(i);
      const Answer& want = wanted[i];
      const auto tokens = s.request->tokens(sample);
      const std::string text = s.request->text(sample);
      n_tokens += static_cast<int32_t>(tokens.size());
      const bool whole = status.ok() || (cut && i == 0);
      if (whole ? tokens != want.tokens || text != want.text
                : tokens.size() > want.tokens.size() || !want.text.starts_with(text) ||
                      !std::equal(tokens.begin(), tokens.end(), want.tokens.begin()) ||
                      text.size() < want.text_size[tokens.size()])
        return "another answer of sample " + std::to_string(i);
      if (s.plan->params.sampling.logprobs > 0 &&
          s.request->logprobs(sample).size() != tokens.size())
        return "log probabilities of other tokens";
      // what on_event could not be given is lost to it, but not to text()
      if (s.plan->params.delivery == Delivery::callback && !status.ok()
              ? !text.starts_with(s.read[i])
              : text != s.read[i])
        return "events told another text of sample " + std::to_string(i);
    }
    return s.request->usage().generated_tokens == n_tokens ? "" : "usage counts other tokens";
  }

  std::string check(Mode mode, Engine& engine, const std::deque<Submitted>& all) {
    int n_ended = 0;
    for (size_t r = 0; r < all.size(); ++r) {
      if (std::string bad = check(all[r], wanted_[r], mode); !bad.empty())
        return "request " + std::to_string(r) + ": " + bad;
      if (const Status status = all[r].request->wait(0); status.code() == Code::out_of_memory) {
        ++n_ended;
        const int64_t before = allocated_bytes();
        sentences_.emplace(status.message());
        kept_bytes_ += allocated_bytes() - before;
      }
    }
    n_ended_ += n_ended;
    if (mode == Mode::one && n_ended > 1) return std::to_string(n_ended) + " requests ended";
    const EngineMetrics m = engine.metrics();
    if (m.running + m.waiting != 0 || m.kv_used != 0) return "something is left";
    if (m.done + m.failed + m.cancelled != static_cast<int64_t>(all.size()))
      return "the engine counts " + std::to_string(m.done + m.failed + m.cancelled) + " ends";
    const PlannedRequest& first = plan_.requests[0];
    if (plan_.first_sample) return "";
    const RequestPtr next = take(engine.submit(first.prompt, first.params));
    while (engine.step(-1).code() == Code::pending) {
    }
    return next->tokens(0) == wanted_[0][0].tokens ? "" : "another answer afterwards";
  }

  const NoMemoryBench& bench_;
  const ToyModel& model_;
  const Schedule& plan_;
  std::vector<std::vector<Answer>> wanted_;  // [requests][samples]
  int64_t n_ended_ = 0;
  EngineCounters events_;
  std::set<std::string> sentences_;
  int64_t kept_bytes_ = 0;
};

}  // namespace

NoMemoryBench::NoMemoryBench() {
  ToyOptions toy;
  toy.n_vocab = 260;
  model_ = make_toy_model(toy);
  model_.backend->chunk_units = 1000;
  Vocabulary v = small_spm();
  v.add(std::string(5000, 'x'));  // longer than any text that is foreseen
  model_.model->tokenizer = take(Tokenizer::make(v.finish()));
}

std::unique_ptr<Engine> NoMemoryBench::engine(const EngineOptions& options) const {
  return take(Engine::create(model_.model, options));
}

bool NoMemoryBench::has_said(const std::string& words) const {
  return std::any_of(sentences_.begin(), sentences_.end(),
                     [&](const std::string& s) { return s.find(words) != std::string::npos; });
}

bool NoMemoryBench::survives(const Schedule& plan) {
  Play play(*this, model_, plan);
  for (const Mode mode : {Mode::one, Mode::some, Mode::ten, Mode::lasting}) {
    const char* name = kModeNames[static_cast<int>(mode)];
    const int64_t n_ended = play.n_ended();
    int64_t stride = mode == Mode::one ? 1 : 3;
    if (kExpensiveChecks) {  // validate() in each step takes memory too, and time: a look here and there
      static_cast<void>(play.run(mode, kForEver / 2));
      stride = std::max<int64_t>(failing_memory.n_asked / 30, 1);
    }
    int64_t k = 0;
    for (bool hit = true; hit; k += stride) {
      const int64_t before = allocated_bytes() - play.kept_bytes();
      std::string bad = play.run(mode, k);
      hit = failing_memory.has_failed();
      const int64_t left = allocated_bytes() - play.kept_bytes() - before;
      if (bad.empty() && left != 0) bad = std::to_string(left) + " bytes leaked";
      if (!bad.empty())
        return std::printf("%s, %s from %lld on: %s\n", plan.name, name, static_cast<long long>(k),
                           bad.c_str()),
               false;
    }
    std::printf("%-12s %-15s %5lld allocations, %lld requests ended with OUT_OF_MEMORY\n",
                plan.name, name, static_cast<long long>(k - stride),
                static_cast<long long>(play.n_ended() - n_ended));
  }
  add_counters(events_, play.events());
  sentences_.merge(play.sentences());
  return play.n_ended() > 0 || (std::printf("%s: nothing ended\n", plan.name), false);
}

}  // namespace llmrt::test
