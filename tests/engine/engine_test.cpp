#include <algorithm>
#include <cmath>

#include "engine_bench.h"

using namespace llmrt;
using namespace llmrt::test;

TEST_CASE("engine: a request gives the tokens of the model alone, whatever runs beside it") {
  EngineBench b;
  std::vector<RequestPtr> requests;
  std::vector<std::vector<Token>> prompts;
  for (uint32_t i = 0; i < 6; ++i) {
    prompts.push_back(some_prompt(5 + 40 * i, i));
    requests.push_back(b.submit(prompts.back(), params_for(30, i + 1)));
  }
  b.run_all();
  for (uint32_t i = 0; i < 6; ++i) {
    CHECK(requests[i]->wait(0).ok());
    CHECK(requests[i]->finish(0) == Finish::length);
    CHECK(requests[i]->tokens(0) == b.expected(prompts[i], params_for(30, i + 1), 0, 30));
    CHECK(requests[i]->usage().generated_tokens == 30);
  }
  b.check_valid();
  CHECK(b.engine->metrics().done == 6);
  CHECK(b.engine->metrics().kv_used == 0);
}

TEST_CASE("engine: submit refuses what cannot work with one sentence that has the numbers") {
  EngineOptions options = EngineBench::host_stepped();
  options.ctx_tokens = 100;
  options.kv_budget = EngineBench::pool_of(200);
  options.queue_limit = 3;
  EngineBench b(options);
  const auto refused = [&](std::vector<Token> prompt, const GenParams& params) {
    auto request = b.engine->submit(std::move(prompt), params);
    REQUIRE_FALSE(request.ok());
    return std::string(request.status().message());
  };
  CHECK(refused({}, params_for(5)) == "prompt is 0 tokens; allowed: 1 to 100");
  CHECK(refused({1, 64}, params_for(5)) == "token 1 of the prompt is 64; allowed: 0 to 63");
  CHECK(refused(some_prompt(101), params_for(5)) ==
        "the prompt has 101 tokens, the context holds 100; raise ctx_tokens");
  CHECK(
      refused(some_prompt(60), params_for(41)) ==
      "60 prompt tokens and 41 new ones are 101, the context holds 100; lower max_tokens or raise "
      "ctx_tokens");
  CHECK(refused(some_prompt(100), params_for(-1)) ==
        "the prompt's 100 tokens fill the context of 100: there is no room for an answer; raise "
        "ctx_tokens");
  GenParams params = params_for(5);
  params.n = 0;
  CHECK(refused({1}, params) == "n is 0; allowed: 1 to 1024");
  params = params_for(-2);
  CHECK(refused({1}, params) == "max_tokens is -2; allowed: -1 and up");
  params = params_for(5);
  params.stop = {"x"};
  CHECK(refused({1}, params) == "stop strings need a tokenizer, the model has none");
  params = params_for(5);
  params.sampling.top_p = NAN;
  CHECK(refused({1}, params).find("top_p") != std::string::npos);
  params = params_for(5);
  params.timeout_ms = -5;
  CHECK(refused({1}, params) == "timeout_ms is -5; allowed: 0 and up");
  std::vector<RequestPtr> waiting;
  for (int i = 0; i < 3; ++i) waiting.push_back(b.submit({1}, params_for(5)));
  CHECK(refused({1}, params_for(5)) == "3 requests wait, queue_limit is 3");
  b.run_all();
  waiting.push_back(b.submit({1}, params_for(5)));
}

TEST_CASE("engine: lengths at the context's end are taken to the token and one more is refused") {
  EngineOptions options = EngineBench::host_stepped();
  options.ctx_tokens = 64;
  options.kv_budget = EngineBench::pool_of(100);
  EngineBench b(options);
  auto last = b.submit(some_prompt(63), params_for(1));
  auto open = b.submit(some_prompt(50), params_for(-1));
  auto only_prompt = b.submit(some_prompt(64), params_for(0));
  b.run_all();
  CHECK(last->tokens(0).size() == 1);
  CHECK(open->tokens(0).size() == 14);
  CHECK(open->finish(0) == Finish::length);
  CHECK(only_prompt->wait(0).ok());
  CHECK(only_prompt->tokens(0).empty());
  CHECK(b.engine->submit(some_prompt(63), params_for(2)).status().code() == Code::context_full);

  options.overflow = Overflow::finish_length;
  EngineBench clipped(options);
  auto request = clipped.submit(some_prompt(60), params_for(100));
  clipped.run_all();
  CHECK(request->tokens(0).size() == 4);
  CHECK(request->finish(0) == Finish::length);
}

TEST_CASE("engine: a request larger than the KV pool is refused at submit with both numbers") {
  EngineOptions options = EngineBench::host_stepped();
  options.kv_budget = EngineBench::pool_of(10);
  EngineBench b(options);
  auto refused = b.engine->submit(some_prompt(100), params_for(100));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == Code::memory_budget);
  CHECK(refused.status().message() == "200 tokens need 16 KV blocks, the engine has 10");
  // to the context's end means to the pool's end where that comes first
  auto request = b.submit(some_prompt(20), params_for(-1));
  b.run_all();
  CHECK(request->finish(0) == Finish::length);
  CHECK(request->tokens(0) == b.expected(some_prompt(20), params_for(-1), 0,
                                         static_cast<uint32_t>(request->tokens(0).size())));
}

TEST_CASE("engine: four samples equal four seeds and share the prompt's blocks") {
  EngineBench b;
  GenParams params = params_for(25, 42);
  params.n = 4;
  const auto prompt = some_prompt(100);
  auto request = b.submit(prompt, params);
  b.run_all();
  for (int32_t i = 0; i < 4; ++i) CHECK(request->tokens(i) == b.expected(prompt, params, i, 25));
  CHECK(request->tokens(0) != request->tokens(1));
  const EngineCounters counters = b.engine->counters();
  CHECK(counters.fork == 3);
  CHECK(counters.copy_on_write > 0);
  CHECK(b.toy.backend->rows ==
        100 + 4 * 24);  // the prompt once; the last token of a sample is never computed
  b.check_valid();
}

TEST_CASE("engine: samples without a free place run later and give the same tokens") {
  EngineOptions options = EngineBench::host_stepped();
  options.max_running = 2;
  EngineBench b(options);
  GenParams params = params_for(25, 42);
  params.n = 5;
  const auto prompt = some_prompt(60);
  auto request = b.submit(prompt, params);
  b.run_all();
  for (int32_t i = 0; i < 5; ++i) CHECK(request->tokens(i) == b.expected(prompt, params, i, 25));
}

TEST_CASE("engine: a prompt seen before is computed from its last full block on") {
  EngineBench b;
  const auto prompt = some_prompt(100);
  auto first = b.submit(prompt, params_for(10, 3));
  b.run_all();
  const int64_t rows = b.toy.backend->rows;
  auto second = b.submit(prompt, params_for(10, 3));
  b.run_all();
  CHECK(second->usage().cached_tokens == 96);
  CHECK(first->usage().cached_tokens == 0);
  CHECK(b.toy.backend->rows - rows == 4 + 9);
  CHECK(first->tokens(0) == second->tokens(0));
  // another turn: prompt, answer and a new question
  auto turn = prompt;
  for (Token t : second->tokens(0)) turn.push_back(t);
  turn.push_back(5);
  auto third = b.submit(turn, params_for(5, 9));
  b.run_all();
  CHECK(third->usage().cached_tokens == 96);
  CHECK(third->tokens(0) == b.expected(turn, params_for(5, 9), 0, 5));
}

TEST_CASE("engine: preemption in a tiny pool changes no token") {
  ToyOptions toy;
  toy.windows = {0};
  EngineOptions options = EngineBench::host_stepped();
  options.kv_budget = EngineBench::pool_of(14);
  EngineBench b(options, toy);
  std::vector<RequestPtr> requests;
  for (uint32_t i = 0; i < 5; ++i)
    requests.push_back(b.submit(some_prompt(40, i), params_for(90, i)));
  while (b.engine->step(0).code() == Code::pending) b.check_valid();
  for (uint32_t i = 0; i < 5; ++i) {
    CHECK(requests[i]->wait(0).ok());
    CHECK(requests[i]->tokens(0) == b.expected(some_prompt(40, i), params_for(90, i), 0, 90));
  }
  CHECK(b.engine->counters().preemption > 0);
  CHECK(b.engine->counters().eviction > 0);
}

TEST_CASE("engine: a higher priority goes first and waiting makes up for it") {
  EngineOptions options = EngineBench::host_stepped();
  options.max_running = 1;
  EngineBench b(options);
  std::vector<int64_t> order;
  GenParams params = params_for(3);
  params.delivery = Delivery::engine_queue;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 3; ++i) {
    params.priority = i;
    params.tag = i;
    requests.push_back(b.submit(some_prompt(4), params));
  }
  Event event;
  RequestPtr request;
  while (order.size() < 3) {
    REQUIRE(b.engine->next(1000, event, request) == Code::ok);
    if (event.type == EventType::done) order.push_back(event.tag);
  }
  CHECK(order == std::vector<int64_t>{2, 1, 0});
}

TEST_CASE(
    "engine: NaN in one request's logits ends that request only and leaves no trace in the cache") {
  EngineBench b;
  b.toy.backend->nan_token = 63;
  auto prompt = some_prompt(60);
  std::replace(prompt.begin(), prompt.end(), 63, 1);
  auto sick_prompt = prompt;
  sick_prompt.push_back(63);
  auto healthy = b.submit(prompt, params_for(3, 4));
  auto sick = b.submit(sick_prompt, params_for(20, 5));
  b.run_all();
  CHECK(sick->wait(0).code() == Code::internal);
  CHECK(sick->finish(0) == Finish::error);
  CHECK(std::string(sick->error().message()).find("NaN") != std::string::npos);
  CHECK(healthy->wait(0).ok());
  b.check_valid();
}

TEST_CASE("engine: a prompt without an answer is refused for NaN and +inf as others are") {
  for (const char* found : {"NaN", "+inf"}) {
    EngineBench b;
    auto& sick_token =
        found == std::string("NaN") ? b.toy.backend->nan_token : b.toy.backend->inf_token;
    sick_token = 63;
    auto prompt = some_prompt(64);
    std::replace(prompt.begin(), prompt.end(), 63, 1);
    prompt.back() = 63;
    auto only_prompt = b.submit(prompt, params_for(0));
    auto answered = b.submit(prompt, params_for(5));
    b.run_all();
    const std::string sentence =
        std::string("logits of position 64 hold ") + found + ", all must be finite or -inf";
    for (const auto& request : {only_prompt, answered}) {
      CHECK(request->wait(0).code() == Code::internal);
      CHECK(request->error().message() == sentence);
    }
    sick_token = -1;
    prompt.push_back(1);
    auto next = b.submit(prompt, params_for(5));
    b.run_all();
    CHECK(next->usage().cached_tokens == 0);  // nobody vouched for the blocks
    CHECK(next->tokens(0) == b.expected(prompt, params_for(5), 0, 5));
    b.check_valid();
  }
}

TEST_CASE("engine: a device error ends the requests of the pass and the engine goes on") {
  EngineBench b;
  auto lost = b.submit(some_prompt(30), params_for(10));
  (void)b.engine->step(0);
  b.toy.backend->fail_passes = 1;
  (void)b.engine->step(0);
  CHECK(lost->wait(0).code() == Code::device);
  CHECK(lost->error().message() == "toy: the device failed");
  auto next = b.submit(some_prompt(30), params_for(10));
  b.run_all();
  CHECK(next->tokens(0) == b.expected(some_prompt(30), params_for(10), 0, 10));
  b.check_valid();
  CHECK(b.engine->metrics().failed == 1);
}

TEST_CASE("engine: a pass without memory is made again and in the end its last in rank gives up") {
  for (const bool suspended : {false, true}) {
    EngineBench b;
    const auto first = b.submit(some_prompt(30, 1), params_for(10, 1));
    const auto second = b.submit(some_prompt(30, 2), params_for(10, 2));
    if (suspended) (void)b.engine->step(0);
    const auto third = b.submit(some_prompt(30, 3), params_for(10, 3));
    b.toy.backend->starve_passes = 7;
    for (int i = 0; i < 7; ++i) {
      CHECK(b.engine->step(-1).code() == Code::pending);
      b.check_valid();
    }
    CHECK(third->wait(0).code() == Code::pending);
    b.run_all();
    CHECK(first->tokens(0) == b.expected(some_prompt(30, 1), params_for(10, 1), 0, 10));
    CHECK(second->tokens(0) == b.expected(some_prompt(30, 2), params_for(10, 2), 0, 10));
    CHECK(third->tokens(0) == b.expected(some_prompt(30, 3), params_for(10, 3), 0, 10));
    CHECK(b.engine->metrics().failed == 0);
  }
  EngineBench b;
  const auto first = b.submit(some_prompt(30, 1), params_for(10, 1));
  const auto last = b.submit(some_prompt(30, 2), params_for(10, 2));
  b.toy.backend->starve_passes = 8;
  for (int i = 0; i < 8; ++i) CHECK(b.engine->step(-1).code() == Code::pending);
  b.run_all();
  CHECK(last->wait(0).code() == Code::out_of_memory);
  CHECK(last->error().message() == "toy: no memory for the pass");
  CHECK(first->tokens(0) == b.expected(some_prompt(30, 1), params_for(10, 1), 0, 10));
  b.check_valid();
}

TEST_CASE(
    "engine: without bytes for blocks the plan shrinks, and only a request alone that can have "
    "none gives up") {
  ToyOptions toy;
  toy.windows = {0};
  EngineOptions options = EngineBench::host_stepped();
  options.kv_budget = EngineBench::pool_of(100);
  EngineBench b(options, toy);
  b.toy.backend->commit_limit = 2 + 10;
  std::vector<RequestPtr> requests;
  for (uint32_t i = 0; i < 3; ++i)
    requests.push_back(b.submit(some_prompt(50, i), params_for(60, i)));
  b.run_all();
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(requests[i]->wait(0).ok());
    CHECK(requests[i]->tokens(0) == b.expected(some_prompt(50, i), params_for(60, i), 0, 60));
  }
  auto large = b.submit(some_prompt(200), params_for(60));
  b.run_all();
  CHECK(large->wait(0).code() == Code::out_of_memory);
  b.toy.backend->commit_limit = -1;
  auto again = b.submit(some_prompt(200), params_for(60));
  b.run_all();
  CHECK(again->wait(0).ok());
  b.check_valid();
}

TEST_CASE(
    "engine: trim 1 gives back free blocks and keeps the cache, trim 2 gives back the cache") {
  EngineBench b;
  auto request = b.submit(some_prompt(900), params_for(5));
  b.run_all();
  const int64_t cached = b.engine->metrics().device_bytes;
  CHECK(b.engine->trim(1).ok());
  auto again = b.submit(some_prompt(900), params_for(5));
  b.run_all();
  CHECK(again->usage().cached_tokens == 896);
  CHECK(b.engine->trim(2).ok());
  CHECK(b.engine->metrics().device_bytes < cached);
  auto anew = b.submit(some_prompt(900), params_for(5));
  b.run_all();
  CHECK(anew->usage().cached_tokens == 0);
  CHECK(anew->tokens(0) == request->tokens(0));
  CHECK(b.engine->trim(0).code() == Code::invalid_argument);
  CHECK(b.engine->trim(4).code() == Code::invalid_argument);
  b.check_valid();

  EngineOptions options = EngineBench::host_stepped();
  options.prefix_cache = false;
  EngineBench plain(options);
  auto freed = plain.submit(some_prompt(900), params_for(5));
  plain.run_all();
  const int64_t before = plain.engine->metrics().device_bytes;
  CHECK(plain.engine->trim(1).ok());
  CHECK(plain.engine->metrics().device_bytes < before);
}

TEST_CASE("engine: trim 3 takes the KV of a paused engine's requests and changes no token") {
  EngineBench b;
  GenParams params = params_for(30, 7);
  params.n = 2;
  auto request = b.submit(some_prompt(300), params);
  auto other = b.submit(some_prompt(100, 2), params_for(30, 8));
  while (request->tokens(1).size() < 5) (void)b.engine->step(0);
  CHECK(b.engine->trim(3).ok());
  CHECK(b.engine->metrics().kv_used > 0);  // what runs keeps its KV
  (void)b.engine->step(0);                 // a pass is open
  CHECK(b.engine->pause().ok());
  CHECK(b.engine->trim(2).ok());
  CHECK(b.engine->metrics().kv_used > 0);
  CHECK(b.engine->trim(3).ok());
  CHECK(b.engine->metrics().kv_used == 0);
  CHECK(b.engine->metrics().running == 0);
  b.check_valid();
  CHECK(b.engine->resume().ok());
  b.run_all();
  for (int32_t i : {0, 1}) CHECK(request->tokens(i) == b.expected(some_prompt(300), params, i, 30));
  CHECK(other->tokens(0) == b.expected(some_prompt(100, 2), params_for(30, 8), 0, 30));
  b.check_valid();
}

TEST_CASE("engine: queue_limit counts requests that never ran, not samples or preempted ones") {
  EngineOptions options = EngineBench::host_stepped();
  options.max_running = 1;
  options.queue_limit = 2;
  EngineBench b(options);
  GenParams params = params_for(10);
  params.n = 4;
  auto samples = b.submit(some_prompt(20), params);
  while (samples->tokens(0).size() < 2) (void)b.engine->step(0);  // three samples queue now
  auto first = b.submit(some_prompt(5), params_for(3));
  (void)b.engine->step(0);
  auto second = b.submit(some_prompt(5), params_for(3));
  (void)b.engine->step(0);
  CHECK(b.engine->submit({1}, params_for(3)).status().code() == Code::queue_full);
  b.run_all();
  CHECK(samples->wait(0).ok());
  CHECK(second->wait(0).ok());
}

TEST_CASE("engine: evaluate gives the logits of every wanted position, beside other work") {
  EngineBench b;
  auto beside = b.submit(some_prompt(200), params_for(50));
  const auto tokens = some_prompt(150, 3);
  for (uint32_t first : {0u, 1u, 100u, 149u}) {
    std::vector<float> logits((150 - first) * 64);
    REQUIRE(b.engine->evaluate(tokens, first, logits).ok());
    ToyOracle oracle(b.toy_options, {});
    for (uint32_t i = 0; i < 150; ++i) {
      oracle.push(tokens[i]);
      if (i >= first)
        CHECK(std::equal(oracle.logits().begin(), oracle.logits().end(),
                         logits.begin() + (i - first) * 64));
    }
  }
  std::vector<float> wrong(10);
  CHECK(b.engine->evaluate(tokens, 0, wrong).code() == Code::invalid_argument);
  CHECK(b.engine->evaluate(tokens, 150, wrong).code() == Code::invalid_argument);
  b.run_all();
  CHECK(beside->wait(0).ok());
  b.check_valid();
}

TEST_CASE(
    "engine: static batches take nothing in until they are done and dynamic ones wait for "
    "company") {
  EngineOptions options = EngineBench::host_stepped();
  options.batching = Batching::static_batch;
  EngineBench b(options);
  auto first = b.submit(some_prompt(5), params_for(20));
  for (int i = 0; i < 40; ++i) (void)b.engine->step(0);
  auto second = b.submit(some_prompt(6), params_for(5));
  while (first->finish(0) == Finish::none) {
    (void)b.engine->step(0);
    CHECK(b.engine->metrics().running <= 1);
  }
  b.run_all();
  CHECK(second->wait(0).ok());

  options.batching = Batching::dynamic;
  options.batch_wait_us = 20000;
  options.host_stepped = false;
  EngineBench d(options);
  auto one = d.submit(some_prompt(5), params_for(3));
  CHECK(one->wait(2000).ok());
  CHECK(one->usage().queue_ms >= 20);
}

TEST_CASE("engine: options out of range are refused by name") {
  const ToyModel toy = make_toy_model({});
  const auto refused = [&](auto&& edit) {
    EngineOptions options = EngineBench::host_stepped();
    edit(options);
    auto made = Engine::create(toy.model, options);
    REQUIRE_FALSE(made.ok());
    CHECK(made.status().detail()->where != "");
    return std::string(made.status().message());
  };
  CHECK(refused([](auto& o) { o.max_running = 0; }) == "max_running is 0; allowed: 1 to 1024");
  CHECK(refused([](auto& o) { o.max_batch = 5000; }) == "max_batch is 5000; allowed: 0 to 4096");
  CHECK(refused([](auto& o) { o.block_tokens = 8; }) ==
        "block_tokens is 8; allowed: 16, 32 and 64");
  CHECK(refused([](auto& o) { o.kv_budget = 100; }) ==
        "the KV budget is 100 bytes, the smallest request needs 1024");
  CHECK(refused([](auto& o) { o.queue_limit = 0; }) == "queue_limit is 0; allowed: 1 to 1048576");
}

TEST_CASE("engine: create fails cleanly when the device has no bytes for the first blocks") {
  const ToyModel toy = make_toy_model({});
  toy.backend->fail_commits = 1;
  CHECK(Engine::create(toy.model, EngineBench::host_stepped()).status().code() ==
        Code::out_of_memory);
  CHECK(Engine::create(toy.model, EngineBench::host_stepped()).ok());
}

TEST_CASE("engine: metrics add up") {
  EngineBench b;
  GenParams params = params_for(10, 3);
  params.n = 2;
  auto request = b.submit(some_prompt(100), params);
  auto second = b.submit(some_prompt(100), params_for(10, 4));
  b.run_all();
  const EngineMetrics m = b.engine->metrics();
  CHECK(m.done == 2);
  CHECK(m.prompt_tokens == 200);
  CHECK(m.generated_tokens == 30);
  CHECK(m.running == 0);
  CHECK(m.waiting == 0);
  CHECK(m.steps > 0);
  CHECK(m.kv_total == b.engine->options().kv_budget - 2 * 256);
  CHECK(m.ttft_ms[0] > 0);
  CHECK(m.e2e_ms[0] >= m.ttft_ms[0]);
  CHECK(m.itl_ms[2] >= m.itl_ms[0]);
  CHECK(m.prefill_tps > 0);
  CHECK(m.decode_tps > 0);
  CHECK(m.batch_mean == doctest::Approx(static_cast<double>(b.toy.backend->rows) /
                                        static_cast<double>(b.toy.backend->passes)));
  CHECK(m.batch_peak == 200);  // the rows of both prompts
  CHECK(request->usage().seed == 3);
  CHECK(request->usage().ttft_ms > 0);
}
