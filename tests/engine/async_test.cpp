// Suspension, cancellation, timeouts, callbacks, pause and close, host-stepped and with the engine's own thread.
#include <atomic>
#include <chrono>
#include <thread>

#include "engine_bench.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

template <class F>
bool within(int ms, F&& condition) {
  for (int i = 0; i < ms; ++i) {
    if (condition()) return true;
    sleep_ms(1);
  }
  return condition();
}

std::vector<EventType> read_types(Request& request) {
  std::vector<EventType> types;
  Event event;
  while (request.next(0, event) == Code::ok) types.push_back(event.type);
  return types;
}

}  // namespace

TEST_CASE("engine async: events come in order, DONE once and last, END for ever after") {
  EngineBench b;
  auto request = b.submit(some_prompt(10), params_for(3));
  Event event;
  CHECK(request->next(0, event) == Code::pending);
  std::vector<EventType> types;
  while (request->next(-1, event) == Code::ok) types.push_back(event.type);
  CHECK(types == std::vector<EventType>{EventType::text, EventType::text, EventType::text,
                                        EventType::sample_done, EventType::done});
  CHECK(event.finish == Finish::length);
  CHECK(request->next(0, event) == Code::end);
  CHECK(request->next(-1, event) == Code::end);
  CHECK(request->wait(-1).ok());
}

TEST_CASE("engine async: a suspended pass goes on where it stopped and budget 0 runs one chunk") {
  EngineBench b;
  auto request = b.submit(some_prompt(50), params_for(4));
  int64_t chunks = 0, steps = 0;
  while (b.engine->step(0).code() == Code::pending) {
    CHECK(b.toy.backend->chunks - chunks <= 1);
    chunks = b.toy.backend->chunks;
    ++steps;
    b.check_valid();
  }
  CHECK(steps >= (50 + 3) * 2 - 1);
  CHECK(b.engine->counters().budget_stop > 100);
  CHECK(request->tokens(0) == b.expected(some_prompt(50), params_for(4), 0, 4));
}

TEST_CASE(
    "engine async: cancelling in a suspended pass ends at once, keeps blocks until the pass ends "
    "and drops a pass of cancelled rows") {
  EngineBench b;
  auto cancelled = b.submit(some_prompt(50), params_for(20));
  auto other = b.submit(some_prompt(30, 2), params_for(5));
  for (int i = 0; i < 20; ++i) (void)b.engine->step(0);
  cancelled->cancel(true);
  CHECK(cancelled->wait(0).code() == Code::cancelled);
  CHECK(cancelled->finish(0) == Finish::cancelled);
  CHECK(read_types(*cancelled).back() == EventType::done);
  cancelled->cancel(false);  // idempotent
  (void)b.engine->step(0);
  b.check_valid();
  CHECK(b.engine->metrics().running == 2);  // its rows are computed and ignored
  b.run_all();
  CHECK(cancelled->tokens(0).empty());
  CHECK(other->tokens(0) == b.expected(some_prompt(30, 2), params_for(5), 0, 5));
  CHECK(b.engine->counters().cancel_suspended == 1);

  auto alone = b.submit(some_prompt(60, 3), params_for(20));
  for (int i = 0; i < 10; ++i) (void)b.engine->step(0);
  const int64_t dropped = b.toy.backend->dropped, rows = b.toy.backend->rows;
  alone->cancel(true);
  b.run_all();
  CHECK(b.toy.backend->dropped == dropped + 1);
  CHECK(b.toy.backend->rows <= rows + 1);
  b.check_valid();
  CHECK(b.engine->metrics().kv_used == 0);
}

TEST_CASE(
    "engine async: text and usage stay readable after a cancel and its tokens never change again") {
  EngineBench b(EngineBench::threaded());
  b.toy.backend->chunk_ns = 200000;
  auto request = b.submit(some_prompt(10), params_for(500));
  CHECK(within(5000, [&] { return request->tokens(0).size() >= 3; }));
  request->cancel(true);
  const auto tokens = request->tokens(0);
  sleep_ms(20);
  CHECK(request->tokens(0) == tokens);
  CHECK(tokens ==
        b.expected(some_prompt(10), params_for(500), 0, static_cast<uint32_t>(tokens.size())));
  CHECK(request->wait(-1).code() == Code::cancelled);
}

TEST_CASE("engine async: a second thread that steps or pumps gets PENDING at once") {
  EngineBench b;
  b.toy.backend->chunk_ns = 2'000'000;
  auto request = b.submit(some_prompt(100), params_for(5));
  std::thread stepper([&] { (void)b.engine->step(200'000); });
  sleep_ms(30);
  const auto start = std::chrono::steady_clock::now();
  CHECK(b.engine->step(-1).code() == Code::pending);
  CHECK(request->wait(5000).code() == Code::pending);
  Event event;
  CHECK(request->next(5000, event) == Code::pending);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(100));
  stepper.join();
}

TEST_CASE("engine async: wait answers PENDING when its own time is over and the request goes on") {
  EngineBench b(EngineBench::threaded());
  b.toy.backend->chunk_ns = 1'000'000;
  auto request = b.submit(some_prompt(40), params_for(10));
  CHECK(request->wait(5).code() == Code::pending);
  CHECK(request->wait(20000).ok());
}

TEST_CASE("engine async: timeout_ms ends a request, host-stepped and threaded") {
  for (bool host : {true, false}) {
    EngineBench b(host ? EngineBench::host_stepped() : EngineBench::threaded());
    b.toy.backend->chunk_ns = 1'000'000;
    GenParams params = params_for(800);
    params.timeout_ms = 60;
    auto request = b.submit(some_prompt(10), params);
    const Status status = request->wait(-1);
    CHECK(status.code() == Code::timeout);
    CHECK(status.message() == "the request took longer than its timeout_ms of 60");
    CHECK(status.detail()->where == "timeout_ms");
    CHECK(request->finish(0) == Finish::timeout);
  }
}

TEST_CASE(
    "engine async: a device that does not return ends waiting requests with TIMEOUT all the same") {
  EngineBench b(EngineBench::threaded());
  b.toy.backend->hang = true;
  GenParams params = params_for(10);
  params.stall_timeout_ms = 50;
  auto request = b.submit(some_prompt(10), params);
  CHECK(request->wait(-1).code() == Code::timeout);
  params.delivery = Delivery::engine_queue;
  auto queued = b.submit(some_prompt(10), params);
  Event event;
  RequestPtr which;
  REQUIRE(b.engine->next(2000, event, which) == Code::ok);
  CHECK(event.type == EventType::done);
  CHECK(event.error == Code::timeout);
  b.toy.backend->hang = false;
  auto next = b.submit(some_prompt(10), params_for(3));
  CHECK(next->wait(5000).ok());
}

TEST_CASE("engine async: a callback that blocks ends its request with TIMEOUT and others go on") {
  EngineBench b(EngineBench::threaded());
  struct Blocker {
    std::atomic<bool> release{false};
    std::atomic<int> calls{0};
  } blocker;
  GenParams params = params_for(5);
  params.stall_timeout_ms = 80;
  params.delivery = Delivery::callback;
  params.user = &blocker;
  params.on_event = [](void* user, const Event&, Request*) -> int32_t {
    auto* self = static_cast<Blocker*>(user);
    ++self->calls;
    while (!self->release) sleep_ms(1);
    return 0;
  };
  auto blocked = b.submit(some_prompt(10), params);
  CHECK(within(2000, [&] { return blocker.calls > 0; }));

  std::atomic<int> done{0};
  GenParams free_params = params_for(20, 3);
  free_params.delivery = Delivery::callback;
  free_params.user = &done;
  free_params.on_event = [](void* user, const Event& event, Request*) -> int32_t {
    if (event.type == EventType::done) ++*static_cast<std::atomic<int>*>(user);
    return 0;
  };
  auto beside = b.submit(some_prompt(20), free_params);
  auto polled = b.submit(some_prompt(20, 1), params_for(20, 4));
  CHECK(polled->wait(5000).ok());
  CHECK(beside->wait(5000).ok());
  CHECK(within(2000, [&] { return done == 1; }));
  CHECK(blocked->wait(5000).code() == Code::timeout);
  CHECK(blocker.calls == 1);
  blocker.release = true;
  CHECK(beside->tokens(0) == b.expected(some_prompt(20), free_params, 0, 20));
}

TEST_CASE("engine async: callbacks come in order with DONE last, may read, and may cancel") {
  for (bool host : {true, false}) {
    EngineBench b(host ? EngineBench::host_stepped() : EngineBench::threaded());
    struct Seen {
      Engine* engine = nullptr;
      std::atomic<int> events{0}, after_done{0};
      std::atomic<bool> done{false};
      std::atomic<Finish> finish{Finish::none};
    } seen;
    seen.engine = b.engine.get();
    GenParams params = params_for(400);
    params.delivery = Delivery::callback;
    params.user = &seen;
    params.on_event = [](void* user, const Event& event, Request* request) -> int32_t {
      auto* self = static_cast<Seen*>(user);
      if (self->done) ++self->after_done;
      (void)request->tokens(0);
      (void)self->engine->metrics();
      if (event.type == EventType::done) {
        self->finish = event.finish;
        self->done = true;
      }
      return ++self->events == 5 ? 1 : 0;  // nonzero cancels
    };
    auto request = b.submit(some_prompt(10), params);
    CHECK(request->wait(5000).code() == Code::cancelled);
    if (host) b.run_all();
    CHECK(within(2000, [&] { return seen.done.load(); }));
    CHECK(seen.finish == Finish::cancelled);
    CHECK(seen.after_done == 0);
    CHECK_FALSE(request->keeps_partial());
    b.engine.reset();
  }
}

TEST_CASE("engine async: an engine that ends hands every request's DONE to its on_event") {
  for (bool host : {true, false}) {
    EngineBench b(host ? EngineBench::host_stepped() : EngineBench::threaded());
    b.toy.backend->chunk_ns = 1'000'000;
    struct Seen {
      std::atomic<int> done{0}, after_done{0};
    } seen[3];
    std::vector<RequestPtr> requests;
    for (Seen& s : seen) {
      GenParams params = params_for(500);
      params.delivery = Delivery::callback;
      params.user = &s;
      params.on_event = [](void* user, const Event& event, Request*) -> int32_t {
        auto& self = *static_cast<Seen*>(user);
        if (self.done > 0) ++self.after_done;
        if (event.type == EventType::text) sleep_ms(2);
        self.done += event.type == EventType::done;
        return 0;
      };
      requests.push_back(b.submit(some_prompt(10), params));
    }
    if (!host) sleep_ms(20);
    requests.pop_back();  // nobody else knows it any more
    b.engine.reset();
    for (const Seen& s : seen) {
      CHECK(s.done == 1);
      CHECK(s.after_done == 0);
    }
  }
}

TEST_CASE("engine async: an end is told when on_logits has returned, and on_logits comes no more") {
  for (const Delivery delivery :
       {Delivery::request_queue, Delivery::engine_queue, Delivery::callback}) {
    EngineBench b(EngineBench::threaded());
    struct Hook {
      std::atomic<bool> go_on{false};
      std::atomic<int> calls{0}, done{0};
    } hook;
    GenParams params = params_for(20);
    params.n = 4;
    params.timeout_ms = 60000;
    params.delivery = delivery;
    params.user = &hook;
    params.on_logits = [](void* user, int32_t, float*, int32_t) {
      auto& self = *static_cast<Hook*>(user);
      ++self.calls;
      while (!self.go_on) sleep_ms(1);
    };
    params.on_event = [](void* user, const Event& event, Request*) -> int32_t {
      static_cast<Hook*>(user)->done += event.type == EventType::done;
      return 0;
    };
    auto request = b.submit(some_prompt(10), params);
    REQUIRE(within(5000, [&] { return hook.calls == 1; }));
    request->cancel(false);
    CHECK_FALSE(b.engine->at_rest());
    CHECK(request->wait(30).code() == Code::pending);
    Event event;
    RequestPtr which;
    CHECK(request->next(0, event) == Code::pending);
    CHECK(b.engine->next(30, event, which) == Code::pending);
    CHECK(hook.done == 0);
    hook.go_on = true;
    CHECK(request->wait(5000).code() == Code::cancelled);
    if (delivery == Delivery::callback) CHECK(within(2000, [&] { return hook.done == 1; }));
    if (delivery == Delivery::engine_queue) {
      REQUIRE(b.engine->next(2000, event, which) == Code::ok);
      CHECK(event.type == EventType::done);
    }
    CHECK(b.engine->close(2000).ok());
    CHECK(hook.calls == 1);
    CHECK(within(2000, [&] { return b.engine->at_rest(); }));
  }
}

TEST_CASE("engine async: a pause is no silence of the requests") {
  for (bool host : {true, false}) {
    EngineBench b(host ? EngineBench::host_stepped() : EngineBench::threaded());
    GenParams params = params_for(5);
    params.stall_timeout_ms = 400;
    CHECK(b.engine->pause().ok());
    auto request = b.submit(some_prompt(10), params);
    sleep_ms(500);
    CHECK(b.engine->resume().ok());
    CHECK(request->wait(5000).ok());
  }
}

TEST_CASE("engine async: a request with callbacks is swept up once they have returned") {
  EngineBench b(EngineBench::threaded());
  GenParams params = params_for(3);
  params.delivery = Delivery::callback;
  params.on_event = [](void*, const Event& event, Request*) -> int32_t {
    if (event.type == EventType::sample_done) sleep_ms(200);  // the engine sleeps by then
    return 0;
  };
  auto request = b.submit(some_prompt(10), params);
  CHECK(request->wait(5000).ok());
  CHECK(b.engine->close(2000).ok());
}

TEST_CASE("engine async: the call that ends a request says whether its text is kept") {
  for (bool keep : {false, true}) {
    EngineBench b;
    auto request = b.submit(some_prompt(10), params_for(50));
    while (request->tokens(0).size() < 3) (void)b.engine->step(0);
    request->cancel(keep);
    request->cancel(!keep);
    CHECK(request->keeps_partial() == keep);
  }
  EngineBench b;
  auto done = b.submit(some_prompt(10), params_for(2));
  b.run_all();
  done->cancel(true);
  CHECK_FALSE(done->keeps_partial());
}

TEST_CASE("engine async: a request is counted before its waiter is told") {
  EngineBench b(EngineBench::threaded());
  for (int64_t i = 1; i <= 50; ++i) {
    auto request = b.submit(some_prompt(5), params_for(2));
    REQUIRE(request->wait(5000).ok());
    REQUIRE(b.engine->metrics().done == i);
  }
  CHECK(b.engine->pause().ok());  // so that it does not end by itself
  auto cut = b.submit(some_prompt(5), params_for(500));
  cut->cancel(false);
  CHECK(b.engine->metrics().cancelled == 1);
}

TEST_CASE("engine async: a closed engine refuses work and still tells what it has") {
  for (bool host : {true, false}) {
    EngineBench b(host ? EngineBench::host_stepped() : EngineBench::threaded());
    b.toy.backend->chunk_ns = 1'000'000;
    std::atomic<int> done{0};
    GenParams params = params_for(500);
    params.delivery = Delivery::callback;
    params.user = &done;
    params.on_event = [](void* user, const Event& event, Request*) -> int32_t {
      if (event.type == EventType::done) ++*static_cast<std::atomic<int>*>(user);
      return 0;
    };
    auto called = b.submit(some_prompt(10), params);
    GenParams queued = params_for(500);
    queued.delivery = Delivery::engine_queue;
    auto listed = b.submit(some_prompt(10), queued);
    CHECK_FALSE(b.engine->closed());
    CHECK(b.engine->close(0).ok());
    CHECK(b.engine->closed());
    CHECK(within(2000, [&] { return done == 1; }));  // nobody has to step it for that
    std::vector<float> logits(64);
    const std::vector<Token> one = {1};
    CHECK(b.engine->submit({1}, params_for(1)).status().code() == Code::closed);
    CHECK(b.engine->step(0).code() == Code::closed);
    CHECK(b.engine->pause().code() == Code::closed);
    CHECK(b.engine->resume().code() == Code::closed);
    CHECK(b.engine->trim(1).code() == Code::closed);
    CHECK(b.engine->evaluate(one, 0, logits).code() == Code::closed);
    CHECK(b.engine->close(0).ok());
    CHECK(b.engine->metrics().cancelled == 2);
    Event event;
    RequestPtr request;
    Code code = Code::ok;
    while ((code = b.engine->next(0, event, request)) == Code::ok) {
    }
    CHECK(event.type == EventType::done);
    CHECK(code == Code::closed);
  }
}

TEST_CASE("engine async: one queue serves many requests") {
  EngineBench b(EngineBench::threaded());
  GenParams params = params_for(10);
  params.delivery = Delivery::engine_queue;
  std::vector<RequestPtr> requests;
  for (int i = 0; i < 8; ++i) {
    params.tag = i;
    params.seed = i;
    requests.push_back(b.submit(some_prompt(10, static_cast<uint32_t>(i)), params));
  }
  int done = 0, tokens[8] = {};
  Event event;
  RequestPtr request;
  while (done < 8) {
    REQUIRE(b.engine->next(5000, event, request) == Code::ok);
    CHECK(request == requests[static_cast<size_t>(event.tag)]);
    if (event.type == EventType::text) tokens[event.tag] += event.n_tokens;
    if (event.type == EventType::done) {
      ++done;
      CHECK(tokens[event.tag] == 10);
    }
  }
  CHECK(b.engine->next(0, event, request) == Code::pending);
  CHECK(b.engine->close(1000).ok());
  CHECK(b.engine->next(-1, event, request) == Code::closed);
  CHECK(b.engine->next(0, event, request) == Code::closed);
}

TEST_CASE("engine async: pause leaves no work in flight and resume goes on") {
  EngineBench b(EngineBench::threaded());
  b.toy.backend->chunk_ns = 100000;
  auto request = b.submit(some_prompt(40), params_for(20));
  sleep_ms(5);
  CHECK(b.engine->pause().ok());
  const int64_t chunks = b.toy.backend->chunks;
  sleep_ms(30);
  CHECK(b.toy.backend->chunks == chunks);
  CHECK(request->wait(0).code() == Code::pending);
  CHECK(b.engine->resume().ok());
  CHECK(request->wait(10000).ok());
  CHECK(request->tokens(0) == b.expected(some_prompt(40), params_for(20), 0, 20));
}

TEST_CASE("engine async: close drains or cancels, and what comes later is refused") {
  for (bool host : {true, false}) {
    EngineBench b(host ? EngineBench::host_stepped() : EngineBench::threaded());
    auto request = b.submit(some_prompt(40), params_for(20));
    CHECK(b.engine->close(10000).ok());
    CHECK(request->wait(0).ok());
    CHECK(b.engine->submit({1}, params_for(1)).status().code() == Code::closed);

    EngineBench c(host ? EngineBench::host_stepped() : EngineBench::threaded());
    c.toy.backend->chunk_ns = 1'000'000;
    auto cut = c.submit(some_prompt(200), params_for(700));
    CHECK(c.engine->close(20).code() == Code::timeout);
    CHECK(cut->wait(0).code() == Code::cancelled);
    auto d =
        std::make_unique<EngineBench>(host ? EngineBench::host_stepped() : EngineBench::threaded());
    auto orphan = d->submit(some_prompt(200), params_for(700));
    d->engine.reset();  // requests outlive their engine
    CHECK(orphan->wait(-1).code() == Code::cancelled);
    Event event;
    while (orphan->next(-1, event) == Code::ok) {
    }
    CHECK(orphan->next(-1, event) == Code::end);
  }
}

TEST_CASE("engine async: the heartbeat moves while the engine works and not while it idles") {
  EngineBench b(EngineBench::threaded());
  auto request = b.submit(some_prompt(100), params_for(50));
  CHECK(request->wait(10000).ok());
  sleep_ms(20);
  const int64_t idle = b.engine->metrics().heartbeat;
  CHECK(idle > 10);
  sleep_ms(50);
  CHECK(b.engine->metrics().heartbeat == idle);
}

TEST_CASE("engine async: sixteen threads submit, read, cancel and release") {
  EngineOptions options = EngineBench::threaded();
  options.max_running = 6;
  options.kv_budget = EngineBench::pool_of(60);
  EngineBench b(options);
  std::atomic<int> wrong{0}, finished{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 12; ++i) {
        const auto prompt = some_prompt(5 + (t * 7 + i * 11) % 40, t % 4);
        GenParams params = params_for(20, t * 100 + i);
        params.n = i % 5 == 0 ? 2 : 1;
        auto request = b.engine->submit(prompt, params);
        if (!request.ok()) {
          ++wrong;
          continue;
        }
        RequestPtr r = std::move(request).value();
        if (i % 3 == 0) {
          Event event;
          (void)r->next(1, event);
          r->cancel(true);
          continue;  // released at once
        }
        if (!r->wait(60000).ok()) ++wrong;
        if (r->tokens(0) != b.expected(prompt, params, 0, 20)) ++wrong;
        ++finished;
        (void)b.engine->metrics();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(finished == 16 * 8);
  CHECK(b.engine->close(10000).ok());
  b.check_valid();
}
