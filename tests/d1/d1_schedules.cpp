// D1: a request's logits and tokens do not depend on what else runs. Each request is run alone first, then many together under a random
// schedule (neighbours, chunk sizes, step budgets, tiny KV pools, thread counts, forks, cancelled neighbours); every row of logits the
// engine hands out must be bit-equal to the request alone.
//
//   d1_schedules MODEL.gguf [--schedules 20] [--seed 1] [--verbose]
//
// The first schedule and two of three others have a prompt of 300 tokens or more, of more than the window where that is up to 610.
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

#include "engine/engine.h"
#include "runtime/loaded_model.h"
#include "runtime/plan.h"

using namespace llmrt;

namespace {

uint64_t hash_row(const float* row, int32_t n) {
  uint64_t h = 1469598103934665603ull;
  for (int32_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, row + i, 4);
    h = (h ^ bits) * 1099511628211ull;
  }
  return h;
}

// What one request handed out: hashes of its logits rows by sample, in order, and its tokens.
struct Trace {
  std::map<int32_t, std::vector<uint64_t>> rows;
  std::map<int32_t, std::vector<Token>> tokens;
};

void on_logits(void* user, int32_t sample, float* logits, int32_t n) {
  static_cast<Trace*>(user)->rows[sample].push_back(hash_row(logits, n));
}

struct Job {
  std::vector<Token> prompt;
  GenParams params;
  Trace alone, together;
  bool cancelled = false;
  RequestPtr request;
};

std::unique_ptr<Engine> make_engine(const std::shared_ptr<const LoadedModel>& model,
                                    const EngineOptions& options) {
  auto engine = Engine::create(model, options);
  if (!engine.ok()) {
    std::fprintf(stderr, "engine: %s\n", std::string(engine.status().message()).c_str());
    std::exit(1);
  }
  return std::move(engine).value();
}

RequestPtr submit(Engine& engine, Job& job, Trace& trace) {
  job.params.on_logits = on_logits;
  job.params.user = &trace;
  auto request = engine.submit(job.prompt, job.params);
  if (!request.ok()) {
    std::fprintf(stderr, "submit: %s\n", std::string(request.status().message()).c_str());
    std::exit(1);
  }
  return std::move(request).value();
}

void collect(const RequestPtr& request, const Job& job, Trace& trace) {
  for (int32_t s = 0; s < job.params.n; ++s) trace.tokens[s] = request->tokens(s);
}

void add(EngineCounters& sum, const EngineCounters& c) {
  sum.preemption += c.preemption;
  sum.eviction += c.eviction;
  sum.fork += c.fork;
  sum.copy_on_write += c.copy_on_write;
  sum.window_slide += c.window_slide;
  sum.chunk_border += c.chunk_border;
  sum.cancel_prefill += c.cancel_prefill;
  sum.cancel_decode += c.cancel_decode;
  sum.cancel_suspended += c.cancel_suspended;
  sum.failed_reserve += c.failed_reserve;
  sum.budget_stop += c.budget_stop;
  sum.prefix_hit += c.prefix_hit;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: d1_schedules MODEL.gguf [--schedules N] [--seed S] [--verbose]\n");
    return 2;
  }
  int n_schedules = 20;
  uint64_t seed = 1;
  bool verbose = false;
  for (int i = 2; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--schedules") && i + 1 < argc)
      n_schedules = std::atoi(argv[++i]);
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
  auto pool = ThreadPool::create({.n_workers = 2});
  if (!pool.ok()) return 1;
  auto host = std::make_shared<Host>(LogSink{}, std::move(pool).value(), "");
  auto loaded = load_model(host, std::move(source).value(), {}, {}, nullptr);
  if (!loaded.ok()) {
    std::fprintf(stderr, "load: %s\n", std::string(loaded.status().message()).c_str());
    return 1;
  }
  const std::shared_ptr<const LoadedModel> model = std::move(loaded).value();
  const auto n_vocab = static_cast<Token>(model->def.program.n_vocab);
  // Attention cuts its keys into chunks at absolute positions: some prompts reach into the second or third. Where the model has a
  // window that prompts can outgrow by more than a block, some do, so that blocks slide out.
  constexpr int64_t kKeyChunk = 256, kMostPrompt = 700;
  const auto window = static_cast<int64_t>(model->def.hparams.window);
  const bool slides = window > 0 && window + 90 <= kMostPrompt;
  const int64_t shortest_long = slides ? std::max<int64_t>(300, window + 90) : 300;

  EngineCounters seen;
  int64_t n_steps = 0, n_rows = 0, n_rows_past_chunk = 0, n_rows_past_window = 0;
  for (int schedule = 0; schedule < n_schedules; ++schedule) {
    std::mt19937_64 rng(seed * 1000003 + static_cast<uint64_t>(schedule));
    auto pick = [&](int64_t lo, int64_t hi) {
      return lo + static_cast<int64_t>(rng() % static_cast<uint64_t>(hi - lo + 1));
    };

    // Requests, some sharing a prefix so that the cache and forks matter.
    std::vector<Token> shared;
    for (int64_t i = pick(40, 120); i > 0; --i)
      shared.push_back(static_cast<Token>(pick(200, n_vocab / 2)));
    std::vector<Job> jobs(static_cast<size_t>(pick(4, 7)));
    // Tight: the first two have long answers, and the pool holds what the engine expects of them (nothing has finished yet: 60 % of
    // max_tokens). They outgrow it, and the last in rank is preempted.
    const bool tight = pick(0, 2) == 0 || schedule == 0;
    const bool has_long = pick(0, 2) != 0 || schedule == 0;
    const int64_t long_at = tight ? 0 : pick(0, static_cast<int64_t>(jobs.size()) - 1);
    const Job* long_job = has_long ? &jobs[static_cast<size_t>(long_at)] : nullptr;
    for (Job& job : jobs) {
      if (pick(0, 1))
        job.prompt.assign(shared.begin(),
                          shared.begin() + pick(1, static_cast<int64_t>(shared.size())));
      for (int64_t i = pick(1, 90); i > 0; --i)
        job.prompt.push_back(static_cast<Token>(pick(200, n_vocab / 2)));
      if (&job == long_job)
        for (int64_t i = pick(shortest_long, kMostPrompt) - static_cast<int64_t>(job.prompt.size());
             i > 0; --i)
          job.prompt.push_back(static_cast<Token>(pick(200, n_vocab / 2)));
      const bool long_answer = tight && &job - jobs.data() < 2;
      job.params.max_tokens = static_cast<int32_t>(long_answer ? pick(60, 100) : pick(8, 24));
      job.params.n = pick(0, 3) == 0 && !long_answer ? static_cast<int32_t>(pick(2, 3)) : 1;
      job.params.seed = static_cast<int64_t>(rng() >> 1);
      job.params.sampling.temperature = pick(0, 1) ? 0.0f : 1.0f;
      job.params.priority = static_cast<int32_t>(pick(0, 2));
      job.params.ignore_eos = true;
    }

    // Alone: a fresh engine per request, whole prompt in one pass, no cache.
    if (!host->pool().resize(2).ok()) return 1;
    for (Job& job : jobs) {
      EngineOptions options;
      options.host_stepped = true;
      options.ctx_tokens = 1024;
      options.prefix_cache = false;
      auto engine = make_engine(model, options);
      RequestPtr request = submit(*engine, job, job.alone);
      while (engine->step(-1).code() == Code::pending) {
      }
      collect(request, job, job.alone);
    }

    // Together.
    if (!host->pool().resize(static_cast<uint32_t>(pick(1, 2))).ok()) return 1;
    EngineOptions options;
    options.host_stepped = true;
    options.ctx_tokens = 1024;
    options.max_running = static_cast<uint32_t>(pick(2, 8));
    options.prefill_chunk = pick(0, 2) ? static_cast<uint32_t>(pick(1, 70)) : 0;
    options.max_batch = pick(0, 1) ? static_cast<uint32_t>(pick(32, 256)) : 0;
    options.prefix_cache = pick(0, 3) != 0;
    // Room for the largest request and a little more: the others wait.
    const MemoryPlan plan = plan_memory(*model->backend, model->def, PlanRequest{}).value();
    int64_t largest = 0;
    for (const Job& job : jobs)
      largest = std::max(largest, job.params.n * (static_cast<int64_t>(job.prompt.size()) +
                                                  job.params.max_tokens + options.block_tokens));
    int64_t expected = 0;
    for (size_t j = 0; j < 2; ++j)
      expected += static_cast<int64_t>(jobs[j].prompt.size()) + jobs[j].params.max_tokens * 6 / 10 +
                  options.block_tokens;
    const int64_t reserved = kFirstBlock * options.block_tokens;  // blocks that hold no tokens
    if (tight)
      options.kv_budget = plan.kv_per_token * (std::max(largest, expected) + reserved);
    else if (pick(0, 2))
      options.kv_budget = plan.kv_per_token * (largest + reserved + pick(32, 250));
    auto engine = make_engine(model, options);
    size_t submitted = 0;
    int steps = 0;
    int64_t n_cancels = pick(0, 2);
    const auto budget_kind = pick(0, 3);
    for (;;) {
      while (submitted < jobs.size() && (steps == 0 ? submitted < 2 : pick(0, 9) == 0)) {
        jobs[submitted].request = submit(*engine, jobs[submitted], jobs[submitted].together);
        ++submitted;
      }
      if (submitted == jobs.size() && n_cancels > 0 && pick(0, 150) == 0) {
        --n_cancels;
        Job& victim = jobs[static_cast<size_t>(pick(0, static_cast<int64_t>(jobs.size()) - 1))];
        if (victim.request->finish(0) == Finish::none) {
          victim.cancelled = true;
          victim.request->cancel(true);
        }
      }
      const int32_t budget = budget_kind == 0   ? -1
                             : budget_kind == 1 ? 0
                                                : static_cast<int32_t>(pick(0, 5000));
      // A budget of 0 runs one chunk: too small a bite for every step of a real model.
      const Status stepped = engine->step(budget_kind == 1 && pick(0, 3) ? 2000
                                          : budget < 0                   ? 1'000'000
                                                                         : budget);
      if (stepped.failed()) {
        std::fprintf(stderr, "schedule %d: step: %s\n", schedule,
                     std::string(stepped.message()).c_str());
        return 1;
      }
      ++steps;
      if (submitted == jobs.size() && stepped.code() != Code::pending) break;
      if (stepped.code() != Code::pending && submitted < jobs.size()) {
        jobs[submitted].request = submit(*engine, jobs[submitted], jobs[submitted].together);
        ++submitted;
      }
    }
    n_steps += steps;
    add(seen, engine->counters());

    for (size_t j = 0; j < jobs.size(); ++j) {
      Job& job = jobs[j];
      collect(job.request, job, job.together);
      for (int32_t s = 0; s < job.params.n; ++s) {
        const auto& a = job.alone.rows[s];
        const auto& b = job.together.rows[s];
        const auto& ta = job.alone.tokens[s];
        const auto& tb = job.together.tokens[s];
        const bool cut = job.cancelled;
        if ((!cut && (a.size() != b.size() || ta.size() != tb.size())) ||
            (cut && (b.size() > a.size() || tb.size() > ta.size()))) {
          std::printf(
              "schedule %d (seed %" PRIu64
              "): request %zu sample %d: %zu rows and %zu tokens alone, %zu and %zu together\n",
              schedule, seed, j, s, a.size(), ta.size(), b.size(), tb.size());
          return 1;
        }
        for (size_t i = 0; i < b.size(); ++i)
          if (a[i] != b[i]) {
            std::printf("schedule %d (seed %" PRIu64
                        "): request %zu (prompt %zu) sample %d: logits differ at step %zu\n",
                        schedule, seed, j, job.prompt.size(), s, i);
            return 1;
          }
        for (size_t i = 0; i < tb.size(); ++i)
          if (ta[i] != tb[i]) {
            std::printf("schedule %d (seed %" PRIu64
                        "): request %zu sample %d: token %zu differs\n",
                        schedule, seed, j, s, i);
            return 1;
          }
        n_rows += static_cast<int64_t>(b.size());
        for (size_t i = 0; i < b.size(); ++i) {  // the row at this position sees all keys up to it
          const auto position = static_cast<int64_t>(job.prompt.size() + i) - 1;
          n_rows_past_chunk += position >= kKeyChunk;
          n_rows_past_window += window > 0 && position >= window;
        }
      }
    }
    if (verbose) std::printf("schedule %d: %zu requests, %d steps\n", schedule, jobs.size(), steps);
  }
  std::printf("%d schedules, %" PRId64 " steps, %" PRId64
              " logits rows bit-equal; preemption %" PRId64 ", eviction %" PRId64 ", fork %" PRId64
              ", copy_on_write %" PRId64 ", window_slide %" PRId64 ", chunk_border %" PRId64
              ", cancel prefill/decode/suspended %" PRId64 "/%" PRId64 "/%" PRId64
              ", failed_reserve %" PRId64 ", budget_stop %" PRId64 ", prefix_hit %" PRId64
              "; rows past a key chunk %" PRId64 ", past the window %" PRId64 "\n",
              n_schedules, n_steps, n_rows, seen.preemption, seen.eviction, seen.fork,
              seen.copy_on_write, seen.window_slide, seen.chunk_border, seen.cancel_prefill,
              seen.cancel_decode, seen.cancel_suspended, seen.failed_reserve, seen.budget_stop,
              seen.prefix_hit, n_rows_past_chunk, n_rows_past_window);
  if (n_schedules > 0 && n_rows_past_chunk == 0) {
    std::printf("no row compared lies past the first key chunk\n");
    return 1;
  }
  if (n_schedules >= 20 && !slides && seen.preemption == 0) {  // sliding out gives room to others
    std::printf("nothing was preempted\n");
    return 1;
  }
  if (n_schedules > 0 && slides && (n_rows_past_window == 0 || seen.window_slide == 0)) {
    std::printf("the window never slid\n");
    return 1;
  }
  return 0;
}
