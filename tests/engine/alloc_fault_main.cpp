// alloc_fault: fails the Nth allocation inside engine steps, for every N until a run needs none. Each time the requests end with
// OUT_OF_MEMORY or well, every equation holds, and a request submitted afterwards gives the right tokens. (Steps allocate little: see
// steady_state_main.cpp. More requests, more failures at once: no_memory_main.cpp.)
// Then those that the first admission of a request makes for it: it is admitted in a later step, and one that runs beside it goes on.
// Then the Nth allocation of a submit: there is a request that works, or std::bad_alloc and none.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "../support/toy_backend.h"
#include "base/memory.h"
#include "engine/engine.h"

namespace {

using namespace llmrt;
using namespace llmrt::test;

int64_t countdown = -1;  // allocations until one fails; -1: none does

void* take(void*, size_t size, size_t align) {
  if (countdown >= 0 && countdown-- == 0) return nullptr;
  void* p = nullptr;
  return posix_memalign(&p, align < sizeof(void*) ? sizeof(void*) : align, size) == 0 ? p : nullptr;
}
void give(void*, void* p, size_t, size_t) { free(p); }

[[gnu::constructor(101)]] void hook() { set_allocator({take, give, nullptr}); }

int fail(int64_t n, const char* what) {
  std::printf("allocation %lld: %s\n", static_cast<long long>(n), what);
  return 1;
}

EngineOptions small_engine() {
  EngineOptions options;
  options.host_stepped = true;
  options.block_tokens = 16;
  options.ctx_tokens = 512;
  options.kv_budget = 40 * 256;
  options.max_running = 4;
  return options;
}

int fail_admissions(const ToyOptions& toy) {
  // two block tables, two lists of tokens, two of a draw, its candidates: the first that the step takes (steady_state_main.cpp)
  constexpr int64_t kTaken = 7;
  const std::vector<Token> prompt(34, 7), other(20, 3);
  GenParams params;
  params.max_tokens = 40;
  params.seed = 5;
  for (int64_t n = 0; n < kTaken; ++n) {
    ToyModel model = make_toy_model(toy);
    auto engine = Engine::create(model.model, small_engine()).value();
    const RequestPtr first = engine->submit(prompt, params).value();
    while (first->usage().generated_tokens < 2) (void)engine->step(0);
    const RequestPtr second = engine->submit(other, params).value();
    countdown = n;
    while (countdown >= 0 && engine->step(0).code() == Code::pending) {
    }
    if (countdown >= 0) return fail(n, "an admission takes less");
    while (engine->step(-1).code() == Code::pending) {
    }
    if (second->tokens(0) != toy_generate(toy, other, params.sampling, mix_seed(5, 0), 40))
      return fail(n, "an admission without memory was not made up for");
    if (first->tokens(0) != toy_generate(toy, prompt, params.sampling, mix_seed(5, 0), 40))
      return fail(n, "an admission without memory was another request's end");
    if (!engine->validate().ok()) return fail(n, "an equation does not hold after an admission");
    if (engine->metrics().kv_used != 0) return fail(n, "blocks of an admission leaked");
  }
  return 0;
}

int fail_submits(const ToyOptions& toy) {
  ToyModel model = make_toy_model(toy);
  auto engine = Engine::create(model.model, small_engine()).value();
  const std::vector<Token> prompt(30, 7);
  GenParams params;
  params.max_tokens = 12;
  params.n = 2;
  params.seed = 5;
  params.sampling.repeat_penalty = 1.1f;
  int64_t n = 0, n_refused = 0;
  for (bool hit = true; hit; ++n) {
    RequestPtr request;
    countdown = n;
    try {
      auto made = engine->submit(prompt, params);
      hit = countdown < 0;
      countdown = -1;
      if (!made.ok()) return fail(n, "submit was refused otherwise");
      request = std::move(made).value();
    } catch (const std::bad_alloc&) {
      countdown = -1;
      ++n_refused;
    }
    if (!engine->validate().ok()) return fail(n, "an equation does not hold after a submit");
    while (engine->step(-1).code() == Code::pending) {
    }
    const EngineMetrics metrics = engine->metrics();
    if (metrics.waiting + metrics.running != 0 || metrics.kv_used != 0)
      return fail(n, "something is left of a submit");
    for (uint32_t i = 0; request && i < 2; ++i) {
      if (request->tokens(static_cast<int32_t>(i)) !=
          toy_generate(toy, prompt, params.sampling, mix_seed(5, i), 12))
        return fail(n, "other tokens after a submit");
    }
  }
  std::printf("%lld allocations of a submit failed in turn, %lld submits threw\n",
              static_cast<long long>(n - 1), static_cast<long long>(n_refused));
  return n_refused > 0 ? 0 : 1;
}

}  // namespace

int main() {
  ToyOptions toy;
  toy.windows = {0, 20};
  int64_t n = 0, failed_requests = 0;
  for (bool hit = true; hit; ++n) {
    ToyModel model = make_toy_model(toy);
    auto engine = Engine::create(model.model, small_engine()).value();
    std::vector<RequestPtr> requests;
    std::vector<std::vector<Token>> prompts;
    for (int i = 0; i < 4; ++i) {
      prompts.push_back(std::vector<Token>(static_cast<size_t>(20 + 15 * i), 3 + i));
      GenParams params;
      params.max_tokens = 40;
      params.n = i == 1 ? 3 : 1;
      params.seed = i;
      requests.push_back(engine->submit(prompts.back(), params).value());
    }
    countdown = n;
    hit = false;
    for (int step = 0; step < 100000; ++step) {
      const Code code = engine->step(-1).code();
      const int64_t left = countdown;
      countdown = -1;
      if (left < 0) hit = true;
      if (Status status = engine->validate(); !status.ok())
        return fail(n, std::string(status.message()).c_str());
      countdown = left;
      if (code == Code::ok) break;
    }
    countdown = -1;
    for (size_t i = 0; i < requests.size(); ++i) {
      const Code code = requests[i]->wait(0).code();
      if (code == Code::out_of_memory)
        ++failed_requests;
      else if (code != Code::ok)
        return fail(n, "a request ended otherwise");
      const auto tokens = requests[i]->tokens(0);
      if (tokens !=
          toy_generate(toy, prompts[i], {}, mix_seed(i, 0), static_cast<uint32_t>(tokens.size())))
        return fail(n, "other tokens");
    }
    GenParams params;
    params.max_tokens = 10;
    params.seed = 9;
    auto next = engine->submit(prompts[0], params).value();
    while (engine->step(-1).code() == Code::pending) {
    }
    if (next->tokens(0) != toy_generate(toy, prompts[0], {}, mix_seed(9, 0), 10))
      return fail(n, "the engine did not go on");
    if (engine->metrics().kv_used != 0) return fail(n, "blocks leaked");
  }
  std::printf("%lld allocations failed in turn, %lld requests ended with OUT_OF_MEMORY\n",
              static_cast<long long>(n - 1), static_cast<long long>(failed_requests));
  if (failed_requests == 0) return 1;
  if (const int failed = fail_admissions(toy); failed != 0) return failed;
  return fail_submits(toy);
}
