// no_memory: engines when memory cannot be had. Schedules of several requests, on the toy model with a tokenizer, are played with the
// k-th allocation that steps make failing, for every k until none fails: that one, one of seven from it on, ten from it on, and all from
// it on for a while.
// Each time
//   every request ends once, with its full and right answer, or with OUT_OF_MEMORY and the right beginning of it
//   one failing allocation ends one request at most, and that one says in a sentence for what there was no memory
//   every equation holds after every step, and nothing is left: no block, no request, no byte
//   a request afterwards is answered as if nothing had been
// Then what is no step's own memory: the sentence of a timeout, trim(), an engine's own threads, and a Status itself.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "../support/host.h"
#include "base/check.h"
#include "failing_memory.h"
#include "no_memory_play.h"

namespace {

using namespace llmrt;
using namespace llmrt::test;

[[gnu::constructor(101)]] void hook() { use_failing_memory(); }

EngineOptions options_of(uint32_t max_running, uint32_t ctx_tokens, int64_t n_blocks) {
  EngineOptions options;
  options.host_stepped = true;
  options.block_tokens = 16;
  options.ctx_tokens = ctx_tokens;
  options.max_running = max_running;
  options.kv_budget = (n_blocks + 2) * 256;
  return options;
}

// Preemption, eviction, forks, prefix hits, chunks, all deliveries, stop strings, log probabilities, the hook.
Schedule mixed() {
  Schedule plan{"mixed", options_of(4, 256, 34), {}};
  plan.options.prefill_chunk = 24;
  plan.options.cache_namespace = std::string(40, 'n');
  const auto add = [&](std::vector<Token> prompt, GenParams params, int at_step) {
    plan.requests.push_back({std::move(prompt), std::move(params), at_step});
  };
  add(prompt_of(40, 1), params_for(50, 1), 0);
  GenParams several = params_for(20, 2);
  several.n = 3;
  several.sampling.repeat_penalty = 1.2f;
  add(prompt_of(60, 2), several, 0);
  GenParams listed = params_for(12, 3);
  listed.delivery = Delivery::engine_queue;
  listed.sampling.logprobs = 2;
  add(prompt_of(20, 3), listed, 0);
  GenParams called = params_for(30, 4);
  called.delivery = Delivery::callback;
  called.on_logits = [](void*, int32_t, float* logits, int32_t) { logits[7] = -5.0f; };
  add(prompt_of(30, 4), called, 1);
  GenParams urgent = params_for(40, 5);
  urgent.priority = 3;
  urgent.ignore_eos = false;
  urgent.stop = {std::string(300, 'x'), "z"};
  std::vector<Token> longer = prompt_of(60, 1);
  add(std::move(longer), urgent, 8);
  return plan;
}

// More requests than the engine's lists have room for at first.
Schedule many() {
  Schedule plan{"many", options_of(1, 128, 20), {}};
  for (int i = 0; i < 9; ++i)
    plan.requests.push_back({prompt_of(5, i), params_for(4, i), i < 7 ? i / 3 : 9});
  return plan;
}

// Longer than what an admission takes ahead, and read by nobody: lists, text and tables grow in steps.
Schedule long_answer() {
  Schedule plan{"long answer", options_of(1, 700, 100), {}, false, true};
  GenParams params = params_for(600, 6);
  params.n = 256;
  plan.requests.push_back({prompt_of(20, 6), params, 0});
  return plan;
}

bool demand(bool right, const char* what) {
  if (!right) std::printf("FAILED: %s\n", what);
  return right;
}

// That what was played says something.
bool is_complete(const NoMemoryBench& bench) {
  const EngineCounters& e = bench.events();
  bool good = demand(e.preemption > 0 && e.eviction > 0 && e.fork > 0 && e.prefix_hit > 0 &&
                         e.failed_reserve > 0 && e.chunk_border > 0,
                     "schedules have all that takes and gives back blocks");
  for (const char* thing :
       {"for a place among", "for the draw of", "for another token of", "for the block tables of"})
    good = demand(bench.has_said(thing), thing) && good;
  return good;
}

// While another runs it waits; alone it is given eight steps. Memory that comes back in time is as if nothing had been.
bool an_admission_waits_for_memory(const NoMemoryBench& bench) {
  bool good = true;
  for (const bool comes_back : {true, false}) {
    const auto engine = bench.engine(options_of(2, 256, 40));
    // room for its answer in the blocks of its prompt
    const RequestPtr runs = take(engine->submit(prompt_of(17, 1), params_for(12, 1)));
    (void)engine->step(0);
    const RequestPtr waits = take(engine->submit(prompt_of(20, 2), params_for(10, 2)));
    const RequestPtr behind = take(engine->submit(prompt_of(20, 3), params_for(10, 3)));
    failing_memory.fail(0, kForEver);
    const auto step = [&] { (void)without_exemption([&] { return engine->step(0).code(); }); };
    while (runs->wait(0).code() == Code::pending) step();
    for (int i = 0; i < 6; ++i) step();
    good = demand(runs->wait(0).ok() && waits->wait(0).code() == Code::pending &&
                      behind->wait(0).code() == Code::pending,
                  "an admission without memory waits") &&
           good;
    for (int i = 0; i < 3 && !comes_back; ++i) step();
    failing_memory.be_back();
    while (engine->step(-1).code() == Code::pending) {
    }
    const Status status = waits->wait(0);
    good = demand(comes_back ? status.ok() : status.code() == Code::out_of_memory,
                  "an admission without memory waits, but not for ever") &&
           good;
    good = demand(behind->wait(0).ok(), "a request ends for the one before it") && good;
    good = demand(engine->validate().ok(), "an equation does not hold after admissions") && good;
  }
  return good;
}

// Of two that may enter the first does, though the second finds no memory.
bool an_admission_needs_its_own_memory(const NoMemoryBench& bench) {
  int n_alone = 0;
  for (int64_t k = 0; k < 20; ++k) {
    const auto engine = bench.engine(options_of(2, 256, 40));
    std::vector<RequestPtr> requests;
    for (int i = 0; i < 2; ++i)
      requests.push_back(take(engine->submit(prompt_of(20, i), params_for(10, i))));
    failing_memory.fail(k, 1);
    (void)without_exemption([&] { return engine->step(0).code(); });
    failing_memory.be_back();
    n_alone += engine->metrics().running == 1;
    while (engine->step(-1).code() == Code::pending) {
    }
    for (const RequestPtr& request : requests)
      if (!demand(request->wait(0).ok(),
                  "one allocation fails and an admission is not tried again"))
        return false;
  }
  return demand(n_alone > 0, "no admission waits for the memory of one behind it");
}

// A submission that finds no place in the engine's lists.
bool a_refused_request_is_forgotten(const NoMemoryBench& bench) {
  const auto engine = bench.engine(options_of(1, 256, 40));
  GenParams params = params_for(10, 1);
  params.n = 16;
  const RequestPtr request = take(engine->submit(prompt_of(20, 1), params));
  failing_memory.fail(0, 1);
  (void)without_exemption([&] { return engine->step(0).code(); });
  failing_memory.be_back();
  return demand(request->wait(0).code() == Code::out_of_memory, "a request without a place ends") &&
         demand(engine->close(100).ok(), "the engine waits for a request that it refused");
}

bool timeouts_need_no_memory(const NoMemoryBench& bench) {
  const auto engine = bench.engine(options_of(1, 256, 40));
  const RequestPtr runs = take(engine->submit(prompt_of(20, 1), params_for(100, 1)));
  GenParams brief = params_for(10, 2);
  brief.timeout_ms = 1;
  const RequestPtr waits = take(engine->submit(prompt_of(20, 2), brief));
  (void)engine->step(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  failing_memory.fail(0, kForEver);
  (void)without_exemption([&] { return engine->step(0).code(); });
  failing_memory.be_back();
  bool good = demand(waits->wait(0).code() == Code::timeout, "a timeout needs no memory");
  while (engine->step(-1).code() == Code::pending) {
  }
  good = demand(runs->wait(0).ok(), "a timeout without memory ended another request") && good;
  return demand(engine->validate().ok(), "an equation does not hold after a timeout") && good;
}

bool trim_needs_no_memory(const NoMemoryBench& bench) {
  const auto engine = bench.engine(options_of(2, 4096, 600));
  const RequestPtr large = take(engine->submit(prompt_of(3500, 1), params_for(20, 1)));
  while (engine->step(-1).code() == Code::pending) {
  }
  const RequestPtr runs = take(engine->submit(prompt_of(20, 2), params_for(60, 2)));
  (void)engine->step(0);
  const int64_t before = engine->metrics().device_bytes;
  failing_memory.fail(0, kForEver);
  (void)without_exemption([&] { return engine->trim(2).code(); });
  (void)without_exemption([&] { return engine->step(0).code(); });
  failing_memory.be_back();
  bool good = demand(engine->metrics().device_bytes < before, "trim() gives back without memory");
  while (engine->step(-1).code() == Code::pending) {
  }
  good = demand(runs->wait(0).ok(), "trim() without memory ended a request") && good;
  return demand(engine->validate().ok(), "an equation does not hold after trim()") && good;
}

// Nothing for the engine's own threads for a while; then all goes on, or has ended.
bool threads_wait_for_memory(const NoMemoryBench& bench) {
  EngineOptions options = options_of(2, 256, 60);
  options.host_stepped = false;
  bool good = true;
  for (int64_t k = 0; k < 12; ++k) {
    const auto engine = bench.engine(options);
    (void)engine->pause();
    std::atomic<int> n_done{0};
    std::vector<RequestPtr> requests;
    for (int i = 0; i < 3; ++i) {
      GenParams params = params_for(40, i);
      if (i > 0) params.delivery = Delivery::callback;
      params.user = &n_done;
      params.on_event = [](void* user, const Event& event, Request*) {
        *static_cast<std::atomic<int>*>(user) += event.type == EventType::done;
        return 0;
      };
      requests.push_back(take(engine->submit(prompt_of(40, i), params)));
    }
    failing_memory.fail(k, kForEver);
    const int64_t heartbeat = engine->metrics().heartbeat;
    (void)engine->resume();
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
    const int64_t n_steps = engine->metrics().heartbeat - heartbeat;
    failing_memory.be_back();
    for (const RequestPtr& request : requests) {
      const Code code = request->wait(20'000).code();
      good = demand(code == Code::ok || code == Code::out_of_memory, "a request ends") && good;
    }
    for (int i = 0; i < 2000 && n_done < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    good = demand(n_done == 2, "every DONE is called back once") && good;
    good = demand(n_steps < 2000, "an engine without memory does not spin") && good;
  }
  return good;
}

bool a_status_needs_no_memory() {
  bool good = true;
  const std::string name(100, 'x');
  for (int64_t k = 0; k < 8; ++k) {
    failing_memory.fail(k, kForEver);
    const Code code = without_exemption([&] {
      const Status made = error(Code::io, "%s: it is not there", name.c_str()).at(name).sys(2);
      Status copy = made;
      copy = Status(Code::format);
      copy = made;
      return copy.code();
    });
    failing_memory.be_back();
    good = demand(code == Code::io, "a status without memory keeps its code") && good;
  }
  return good;
}

}  // namespace

int main() {
  alarm(230);  // a step that never returns ends here
  NoMemoryBench bench;
  bool good = a_status_needs_no_memory();
  for (const Schedule& plan : {mixed(), many(), long_answer()}) good = bench.survives(plan) && good;
  if (!kExpensiveChecks) good = is_complete(bench) && good;  // else few are played
  good = an_admission_waits_for_memory(bench) && good;
  good = an_admission_needs_its_own_memory(bench) && good;
  good = a_refused_request_is_forgotten(bench) && good;
  good = timeouts_need_no_memory(bench) && good;
  good = trim_needs_no_memory(bench) && good;
  good = threads_wait_for_memory(bench) && good;
  return good ? 0 : 1;
}
