// D1: a request's logits and tokens do not depend on what else runs. Each request is run alone first, then many together under random
// schedules (neighbours, chunk sizes, step budgets, tiny KV pools, thread counts, forks, cancelled neighbours); every row of logits the
// engine hands out must be bit-equal to the request alone. Some schedules in a row play the same group of requests.
//
//   d1_schedules MODEL.gguf [--schedules 20] [--of-a-group 2] [--seed 1] [--verbose]
//
// The first group and two of three others have a prompt of 300 tokens or more, of more than the window where that is up to 610.
//
// Exit 0: all equal. 1: a difference (prints schedule, request, sample, step). 2: usage. 77: no such file.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "engine/engine.h"
#include "runtime/loaded_model.h"
#include "runtime/plan.h"
#include "tests/support/counters.h"
#include "tests/support/host.h"

using namespace llmrt;
using test::take;

namespace {

constexpr int kFewestSteps = 40;

// What one request handed out: hashes of its logits rows by sample, in order, and its tokens.
struct Trace {
  std::map<int32_t, std::vector<uint64_t>> rows;
  std::map<int32_t, std::vector<Token>> tokens;
};

void on_logits(void* user, int32_t sample, float* logits, int32_t n) {
  static_cast<Trace*>(user)->rows[sample].push_back(
      XXH3_64bits(logits, sizeof(float) * static_cast<size_t>(n)));
}

struct Job {
  std::vector<Token> prompt;
  GenParams params;
  Trace alone, together;
  bool cancelled = false;
  RequestPtr request;
};

// Requests that run together. Tight: the first two have long answers, and the pool of a schedule holds just what the engine expects of
// them (nothing has finished yet: 60 % of max_tokens). They outgrow it, and the last in rank is preempted. So that they do so together
// they share no prefix, have answers of one length, both long prompts or neither, and are not cancelled; so that nobody else needs a
// larger pool, they are the largest and no request has several samples.
struct Group {
  std::vector<Job> jobs;
  bool tight = false;
};

// Attention cuts its keys into chunks at absolute positions: some prompts reach into the second or third. Where the model has a window
// that prompts can outgrow by more than a block, some do, so that blocks slide out.
struct Shape {
  Token n_vocab = 0;
  int64_t window = 0;
  [[nodiscard]] bool slides() const { return window > 0 && window + 90 <= kMostPrompt; }
  [[nodiscard]] int64_t shortest_long() const {
    return slides() ? std::max<int64_t>(300, window + 90) : 300;
  }
  static constexpr int64_t kKeyChunk = 256, kMostPrompt = 700;
};

struct Totals {
  EngineCounters seen;
  int64_t n_steps = 0, n_rows = 0, n_rows_past_chunk = 0, n_rows_past_window = 0;
};

class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  int64_t pick(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(bits_() % static_cast<uint64_t>(hi - lo + 1));
  }
  uint64_t bits() { return bits_(); }

 private:
  std::mt19937_64 bits_;
};

RequestPtr submit(Engine& engine, Job& job, Trace& trace) {
  job.params.on_logits = on_logits;
  job.params.user = &trace;
  return take(engine.submit(job.prompt, job.params));
}

void collect(const RequestPtr& request, const Job& job, Trace& trace) {
  for (int32_t s = 0; s < job.params.n; ++s) trace.tokens[s] = request->tokens(s);
}

void append_tokens(std::vector<Token>& prompt, int64_t n, const Shape& shape, Random& random) {
  for (; n > 0; --n) prompt.push_back(static_cast<Token>(random.pick(200, shape.n_vocab / 2)));
}

// Some requests share a prefix, so that the cache and forks matter.
Group draw_group(const Shape& shape, Random& random, bool first) {
  Group group;
  std::vector<Token> shared;
  append_tokens(shared, random.pick(40, 120), shape, random);
  group.jobs.resize(static_cast<size_t>(random.pick(4, 7)));
  group.tight = random.pick(0, 2) == 0 || first;
  const bool has_long = random.pick(0, 2) != 0 || first;
  const auto long_at =
      static_cast<size_t>(random.pick(0, static_cast<int64_t>(group.jobs.size()) - 1));
  const auto long_answer = static_cast<int32_t>(random.pick(100, 130));
  for (size_t j = 0; j < group.jobs.size(); ++j) {
    Job& job = group.jobs[j];
    const bool of_the_pair = group.tight && j < 2;
    if (random.pick(0, 1) && !of_the_pair)
      job.prompt.assign(shared.begin(),
                        shared.begin() + random.pick(1, static_cast<int64_t>(shared.size())));
    append_tokens(job.prompt, of_the_pair ? random.pick(110, 200) : random.pick(1, 90), shape,
                  random);
    if (has_long && (group.tight ? of_the_pair : j == long_at))
      append_tokens(job.prompt,
                    random.pick(shape.shortest_long(), Shape::kMostPrompt) -
                        static_cast<int64_t>(job.prompt.size()),
                    shape, random);
    job.params.max_tokens = of_the_pair ? long_answer : static_cast<int32_t>(random.pick(8, 24));
    job.params.n =
        random.pick(0, 3) == 0 && !group.tight ? static_cast<int32_t>(random.pick(2, 3)) : 1;
    job.params.seed = static_cast<int64_t>(random.bits() >> 1);
    job.params.sampling.temperature = random.pick(0, 1) ? 0.0f : 1.0f;
    job.params.priority = static_cast<int32_t>(random.pick(0, 2));
    job.params.ignore_eos = true;
  }
  return group;
}

// A fresh engine per request, the whole prompt in one pass, no cache.
void run_alone(const std::shared_ptr<const LoadedModel>& model, Group& group) {
  for (Job& job : group.jobs) {
    EngineOptions options;
    options.host_stepped = true;
    options.ctx_tokens = 1024;
    options.prefix_cache = false;
    auto engine = take(Engine::create(model, options));
    RequestPtr request = submit(*engine, job, job.alone);
    while (engine->step(-1).code() == Code::pending) {
    }
    collect(request, job, job.alone);
  }
}

EngineOptions draw_options(const LoadedModel& model, const Group& group, Random& random) {
  EngineOptions options;
  options.host_stepped = true;
  options.ctx_tokens = 1024;
  options.max_running = static_cast<uint32_t>(random.pick(2, 8));
  options.prefill_chunk = random.pick(0, 2) ? static_cast<uint32_t>(random.pick(1, 70)) : 0;
  options.max_batch = random.pick(0, 1) ? static_cast<uint32_t>(random.pick(32, 256)) : 0;
  options.prefix_cache = random.pick(0, 3) != 0;
  // Room for the largest request and a little more: the others wait.
  const MemoryPlan plan = plan_memory(*model.backend, model.def, PlanRequest{}).value();
  int64_t largest = 0, expected = 0;
  const int64_t block = options.block_tokens;
  for (size_t j = 0; j < group.jobs.size(); ++j) {
    const Job& job = group.jobs[j];
    const auto n_prompt = static_cast<int64_t>(job.prompt.size());
    largest = std::max(largest, job.params.n * (n_prompt + job.params.max_tokens + block));
    if (j < 2) expected += (n_prompt + job.params.max_tokens * 6 / 10 + block - 1) / block * block;
  }
  const int64_t reserved = kFirstBlock * block;  // blocks that hold no tokens
  if (group.tight)
    options.kv_budget = plan.kv_per_token * (std::max(largest, expected) + reserved);
  else if (random.pick(0, 2))
    options.kv_budget = plan.kv_per_token * (largest + reserved + random.pick(32, 250));
  return options;
}

// Plays the group under one random schedule. Returns the number of steps; -1 when a step failed.
int run_together(const std::shared_ptr<const LoadedModel>& model, Group& group, Random& random,
                 Totals& totals) {
  std::vector<Job>& jobs = group.jobs;
  for (Job& job : jobs) {
    job.together = {};
    job.cancelled = false;
  }
  auto engine = take(Engine::create(model, draw_options(*model, group, random)));
  size_t submitted = 0;
  int steps = 0;
  int64_t n_cancels = random.pick(0, 2);
  const int64_t cancel_every = random.pick(0, 1) ? 10 : 150;  // steps: a small model takes few
  const auto budget_kind = random.pick(0, 3);
  const auto submit_next = [&] {
    jobs[submitted].request = submit(*engine, jobs[submitted], jobs[submitted].together);
    ++submitted;
  };
  for (;;) {
    while (submitted < jobs.size() && (steps == 0 ? submitted < 2 : random.pick(0, 9) == 0))
      submit_next();
    if (submitted == jobs.size() && n_cancels > 0 && random.pick(1, cancel_every) == 1) {
      Job& victim = jobs[static_cast<size_t>(
          random.pick(group.tight ? 2 : 0, static_cast<int64_t>(jobs.size()) - 1))];
      if (victim.request->finish(0) == Finish::none) {
        --n_cancels;
        victim.cancelled = true;
        victim.request->cancel(true);
      }
    }
    // A budget of 0 runs one chunk: too small a bite for every step of a real model, but the first steps take it, or a schedule of a
    // small one would be over before its requests have met.
    int32_t budget = 5000;
    if (budget_kind == 1)
      budget = random.pick(0, 3) ? 2000 : 0;
    else if (budget_kind > 1)
      budget = static_cast<int32_t>(random.pick(0, 5000));
    if (steps < kFewestSteps) budget = 0;
    const Status stepped = engine->step(budget);
    if (stepped.failed()) {
      std::printf("step %d: %s\n", steps, std::string(stepped.message()).c_str());
      return -1;
    }
    ++steps;
    if (stepped.code() == Code::pending) continue;
    if (submitted == jobs.size()) break;
    submit_next();
  }
  for (Job& job : jobs) collect(job.request, job, job.together);
  test::add_counters(totals.seen, engine->counters());
  totals.n_steps += steps;
  return steps;
}

// False, with a line that says where, when a request differs from its run alone. A cancelled one is a beginning of it.
bool same_as_alone(const Group& group, const Shape& shape, Totals& totals) {
  for (size_t j = 0; j < group.jobs.size(); ++j) {
    const Job& job = group.jobs[j];
    for (int32_t s = 0; s < job.params.n; ++s) {
      const auto& rows_alone = job.alone.rows.at(s);
      const auto& tokens_alone = job.alone.tokens.at(s);
      const auto rows_at = job.together.rows.find(s);  // none when cancelled early
      const std::vector<uint64_t> rows =
          rows_at == job.together.rows.end() ? std::vector<uint64_t>{} : rows_at->second;
      const auto& tokens = job.together.tokens.at(s);
      const bool whole = rows.size() == rows_alone.size() && tokens.size() == tokens_alone.size();
      const bool part = rows.size() <= rows_alone.size() && tokens.size() <= tokens_alone.size();
      if (job.cancelled ? !part : !whole) {
        std::printf("request %zu sample %d: %zu rows and %zu tokens alone, %zu and %zu together\n",
                    j, s, rows_alone.size(), tokens_alone.size(), rows.size(), tokens.size());
        return false;
      }
      const auto row = std::mismatch(rows.begin(), rows.end(), rows_alone.begin()).first;
      if (row != rows.end()) {
        std::printf("request %zu (prompt %zu) sample %d: logits differ at step %td\n", j,
                    job.prompt.size(), s, row - rows.begin());
        return false;
      }
      const auto token = std::mismatch(tokens.begin(), tokens.end(), tokens_alone.begin()).first;
      if (token != tokens.end()) {
        std::printf("request %zu sample %d: token %td differs\n", j, s, token - tokens.begin());
        return false;
      }
      totals.n_rows += static_cast<int64_t>(rows.size());
      for (size_t i = 0; i < rows.size(); ++i) {  // this row sees all keys up to its position
        const auto position = static_cast<int64_t>(job.prompt.size() + i) - 1;
        totals.n_rows_past_chunk += position >= Shape::kKeyChunk;
        totals.n_rows_past_window += shape.window > 0 && position >= shape.window;
      }
    }
  }
  return true;
}

void print(const Totals& totals, int n_schedules) {
  std::printf("%d schedules, %" PRId64 " steps, %" PRId64 " logits rows bit-equal", n_schedules,
              totals.n_steps, totals.n_rows);
  for (const test::EngineEvent& event : test::kEngineEvents)
    std::printf(", %s %" PRId64, event.name, totals.seen.*event.count);
  std::printf("; rows past a key chunk %" PRId64 ", past the window %" PRId64 "\n",
              totals.n_rows_past_chunk, totals.n_rows_past_window);
}

// A run in which something never happened says nothing about it. Where blocks slide out of a window, that gives room to others, and
// nothing need be preempted.
bool saw_what_it_is_for(const Totals& totals, const Shape& shape, int n_schedules) {
  const EngineCounters& seen = totals.seen;
  struct Event {
    const char* name;
    int64_t count;
    int from_schedules;
  };
  const Event events[] = {
      {"row past the first key chunk", totals.n_rows_past_chunk, 1},
      {"row past the window", shape.slides() ? totals.n_rows_past_window : 1, 1},
      {"window slide", shape.slides() ? seen.window_slide : 1, 1},
      {"budget stop", seen.budget_stop, 1},
      {"chunk border", seen.chunk_border, 20},
      {"prefix hit", seen.prefix_hit, 20},
      {"fork", seen.fork, 20},
      {"copy-on-write", seen.copy_on_write, 20},
      {"eviction", seen.eviction, 20},
      {"preemption", shape.slides() ? 1 : seen.preemption, 20},
      {"cancel", seen.cancel_prefill + seen.cancel_decode + seen.cancel_suspended, 20},
  };
  for (const Event& event : events)
    if (n_schedules >= event.from_schedules && event.count == 0) {
      std::printf("not one %s in %d schedules\n", event.name, n_schedules);
      return false;
    }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(
        stderr,
        "usage: d1_schedules MODEL.gguf [--schedules N] [--of-a-group M] [--seed S] [--verbose]\n");
    return 2;
  }
  int n_schedules = 20, of_a_group = 2;
  uint64_t seed = 1;
  bool verbose = false;
  for (int i = 2; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--schedules") && i + 1 < argc)
      n_schedules = std::atoi(argv[++i]);
    else if (!std::strcmp(argv[i], "--of-a-group") && i + 1 < argc)
      of_a_group = std::max(1, std::atoi(argv[++i]));
    else if (!std::strcmp(argv[i], "--seed") && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else if (!std::strcmp(argv[i], "--verbose"))
      verbose = true;
  }
  auto source = source_from_path(argv[1]);
  if (!source.ok()) {
    std::printf("skipped: %s\n", std::string(source.status().message()).c_str());
    return 77;
  }
  const auto host = test::make_host();
  const std::shared_ptr<const LoadedModel> model =
      take(load_model(host, {std::move(source).value()}, {}, nullptr));
  Shape shape;
  shape.n_vocab = static_cast<Token>(model->def.program.n_vocab);
  shape.window = static_cast<int64_t>(model->def.hparams.window);

  Totals totals;
  Group group;
  for (int schedule = 0; schedule < n_schedules; ++schedule) {
    Random random(seed * 1000003 + static_cast<uint64_t>(schedule));
    if (schedule % of_a_group == 0) {
      group = draw_group(shape, random, schedule == 0);
      if (!host->pool().resize(2).ok()) return 1;
      run_alone(model, group);
    }
    if (!host->pool().resize(static_cast<uint32_t>(random.pick(1, 2))).ok()) return 1;
    const int steps = run_together(model, group, random, totals);
    if (steps >= 0 && steps < kFewestSteps) {
      std::printf("%d steps in schedule %d (seed %" PRIu64 "): too few to mean anything\n", steps,
                  schedule, seed);
      return 1;
    }
    if (steps < 0 || !same_as_alone(group, shape, totals)) {
      std::printf("schedule %d (seed %" PRIu64 ") failed\n", schedule, seed);
      return 1;
    }
    if (verbose)
      std::printf("schedule %d: %zu requests, %d steps\n", schedule, group.jobs.size(), steps);
  }
  print(totals, n_schedules);
  return saw_what_it_is_for(totals, shape, n_schedules) ? 0 : 1;
}
