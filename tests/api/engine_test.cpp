#include <atomic>
#include <cmath>
#include <map>
#include <thread>

#include "api_kit.h"

using namespace api_test;

TEST_CASE("engine: one queue serves all requests that ask for it, and names their handles") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_gen_options o = greedy(30);
  o.delivery = 1;
  std::map<llmrt_request*, std::string> texts;
  std::vector<Owned<llmrt_request>> requests;
  for (int i = 0; i < 5; ++i) {
    o.tag = i;
    requests.push_back(submit(engine.get(), std::string(1, static_cast<char>('1' + i)), o));
  }
  llmrt_event event = empty_event();
  CHECK(llmrt_request_next(requests[0].get(), 0, &event) == LLMRT_ERR_INVALID_ARGUMENT);
  for (size_t n_done = 0; n_done < requests.size();) {
    REQUIRE(llmrt_engine_next(engine.get(), 10000, &event) == LLMRT_OK);
    if (event.type == LLMRT_EVENT_TEXT) texts[event.request].append(event.text, event.text_len);
    if (event.type == LLMRT_EVENT_DONE) ++n_done;
  }
  CHECK(llmrt_engine_next(engine.get(), 0, &event) == LLMRT_PENDING);
  for (int i = 0; i < 5; ++i)
    CHECK(texts[requests[static_cast<size_t>(i)].get()] ==
          std::string("23456789").substr(static_cast<size_t>(i)));
}

TEST_CASE("engine: evaluate gives the logits of every position asked for") {
  const auto model = load_table();
  for (const int32_t threading : {0, 1}) {
    const auto engine = make_engine(model.get(), threading);
    const int32_t tokens[] = {'a', '5', 'z'};
    std::vector<float> logits(2 * 258);
    size_t n = 0;
    CHECK(llmrt_evaluate(engine.get(), tokens, 3, 1, logits.data(), 10, &n) ==
          LLMRT_ERR_BUFFER_TOO_SMALL);
    CHECK(n == logits.size());
    REQUIRE_OK(llmrt_evaluate(engine.get(), tokens, 3, 1, logits.data(), logits.size(), &n));
    CHECK(std::fabs(logits['6'] - 20.0f) < 0.1f);
    CHECK(std::fabs(logits[258 + 'a'] - 20.0f) < 0.1f);
    CHECK(std::fabs(logits['a'] + 60.0f) < 0.5f);
    CHECK(llmrt_evaluate(engine.get(), tokens, 3, 3, logits.data(), logits.size(), &n) ==
          LLMRT_ERR_INVALID_ARGUMENT);
    const int32_t outside = -1;
    CHECK(llmrt_evaluate(engine.get(), &outside, 1, 0, logits.data(), logits.size(), &n) ==
          LLMRT_ERR_INVALID_ARGUMENT);
  }
}

TEST_CASE("engine: pause keeps requests, resume goes on") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  CHECK_OK(llmrt_engine_pause(engine.get()));
  CHECK_OK(llmrt_engine_pause(engine.get()));
  const auto request = submit(engine.get(), "1", greedy(20));
  CHECK(llmrt_request_wait(request.get(), 50) == LLMRT_PENDING);
  CHECK(text_of(request.get()).empty());
  CHECK_OK(llmrt_engine_resume(engine.get()));
  CHECK(llmrt_request_wait(request.get(), 10000) == LLMRT_OK);
  CHECK(text_of(request.get()) == "23456789");
}

TEST_CASE("engine: a paused engine goes on when its handle is released") {
  const auto model = load_table();
  for (const int32_t threading : {0, 1}) {
    auto engine = make_engine(model.get(), threading);
    CHECK_OK(llmrt_engine_pause(engine.get()));
    const auto request = submit(engine.get(), "1", greedy(20));
    engine.reset();
    CHECK(llmrt_request_wait(request.get(), 10000) == LLMRT_OK);
    CHECK(text_of(request.get()) == "23456789");
  }
}

TEST_CASE("engine: close cancels what runs and refuses what comes, reading goes on") {
  const auto model = load_table();
  for (const int32_t threading : {0, 1}) {
    const auto engine = make_engine(model.get(), threading);
    const auto session = make_session(engine.get());
    REQUIRE_OK(llmrt_session_add(session.get(), "user", "hi"));
    CHECK_OK(llmrt_engine_pause(engine.get()));  // so that nothing ends before the close
    llmrt_gen_options o = greedy(-1);
    const auto request = submit(engine.get(), "a", o);
    o.delivery = 1;
    const auto listed = submit(engine.get(), "a", o);
    CHECK_OK(llmrt_engine_close(engine.get(), 0));
    CHECK_OK(llmrt_engine_close(engine.get(), 0));
    CHECK(llmrt_request_wait(request.get(), 1000) == LLMRT_ERR_CANCELLED);
    llmrt_request* refused = nullptr;
    llmrt_session* no_session = nullptr;
    const int32_t token = 'a';
    float logits[258];
    size_t n = 0;
    CHECK(llmrt_submit_text(engine.get(), "a", 1, nullptr, &refused) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_submit_tokens(engine.get(), &token, 1, nullptr, &refused) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_submit_chat(engine.get(), R"([{"role":"user","content":"x"}])", nullptr,
                            &refused) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_session_create(engine.get(), nullptr, &no_session) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_session_submit(session.get(), nullptr, &refused) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_engine_step(engine.get(), 0) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_engine_pause(engine.get()) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_engine_resume(engine.get()) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_engine_trim(engine.get(), 2) == LLMRT_ERR_CLOSED);
    CHECK(llmrt_evaluate(engine.get(), &token, 1, 0, logits, 258, &n) == LLMRT_ERR_CLOSED);
    CHECK(last_error() == "the engine is closed");
    llmrt_metrics m = {};
    m.struct_size = sizeof m;
    CHECK_OK(llmrt_engine_metrics(engine.get(), &m));
    CHECK(m.cancelled == 2);
    CHECK(history_of(session.get()) == R"([{"role":"user","content":"hi"}])");
    CHECK_OK(llmrt_session_add(session.get(), "user", "more"));
    llmrt_event event = empty_event();
    llmrt_status status = LLMRT_OK;
    while ((status = llmrt_engine_next(engine.get(), 0, &event)) == LLMRT_OK) {
    }
    CHECK(event.type == LLMRT_EVENT_DONE);
    CHECK(status == LLMRT_ERR_CLOSED);
  }
}

TEST_CASE("engine: close with a time tells when requests had to be cancelled") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  CHECK_OK(llmrt_engine_pause(engine.get()));  // so that nothing ends well
  const auto request = submit(engine.get(), "a", greedy(-1));
  CHECK(llmrt_engine_close(engine.get(), 10) == LLMRT_ERR_TIMEOUT);
  CHECK(last_where() == "timeout_ms");
  CHECK(llmrt_request_wait(request.get(), 1000) == LLMRT_ERR_CANCELLED);
}

TEST_CASE("engine: metrics count requests and tokens") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const auto session = make_session(engine.get());
  const auto request = submit(engine.get(), "12345", greedy(20));
  REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
  llmrt_metrics m = {};
  m.struct_size = sizeof m;
  REQUIRE_OK(llmrt_engine_metrics(engine.get(), &m));
  CHECK(m.done == 1);
  CHECK(m.prompt_tokens == 5);
  CHECK(m.generated_tokens >= 4);
  CHECK(m.sessions == 1);
  CHECK(m.kv_total > 0);
  CHECK(m.weight_bytes > 0);
  CHECK(m.compute_bytes > 0);
  CHECK(m.host_bytes >= m.weight_bytes + m.compute_bytes);
  CHECK(m.heartbeat > 0);
  CHECK(llmrt_engine_trim(engine.get(), 0) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_engine_step(engine.get(), 0) == LLMRT_ERR_UNSUPPORTED);
}

TEST_CASE("engine: trim 1 keeps the prefix cache, 2 and 3 do not") {
  const auto model = load_table();
  const auto engine = make_engine(model.get(), 1);
  const std::string prompt(100, 'q');
  const auto cached_tokens = [&] {
    const auto request = submit(engine.get(), prompt, greedy(2));
    REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
    llmrt_usage usage = {};
    usage.struct_size = sizeof usage;
    REQUIRE_OK(llmrt_request_usage(request.get(), &usage));
    return usage.cached_tokens;
  };
  CHECK(cached_tokens() == 0);
  CHECK(cached_tokens() == 96);
  CHECK_OK(llmrt_engine_trim(engine.get(), 1));
  CHECK(cached_tokens() == 96);
  for (const int32_t level : {2, 3}) {
    CHECK_OK(llmrt_engine_trim(engine.get(), level));
    CHECK(cached_tokens() == 0);
  }
}

TEST_CASE("engine: engines of one model come and go beside others that work") {
  for (const char* devices : {"cpu", "reference"}) {
    llmrt_model_options o;
    llmrt_model_options_init(&o, sizeof o);
    o.devices = devices;
    const auto model = load_table(&o);
    std::atomic<int> n_right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 10; ++i) {
          const auto engine = make_engine(model.get());
          const auto request = submit(engine.get(), "1", greedy(20));
          n_right += llmrt_request_wait(request.get(), -1) == LLMRT_OK &&
                     text_of(request.get()) == "23456789";
          submit(engine.get(), "a", greedy(200));  // runs when its engine goes
        }
      });
    for (std::thread& thread : threads) thread.join();
    CHECK(n_right == 30);
  }
}

TEST_CASE("engine: a full queue is told") {
  const auto model = load_table();
  llmrt_engine_options o = engine_options();
  o.queue_limit = 2;
  o.threading = 1;
  const Owned<llmrt_engine> owner = make_engine(model.get(), o);
  llmrt_engine* const engine = owner.get();
  std::vector<Owned<llmrt_request>> requests;
  for (int i = 0; i < 2; ++i) requests.push_back(submit(engine, "a", greedy(5)));
  llmrt_request* refused = nullptr;
  CHECK(llmrt_submit_text(engine, "a", 1, nullptr, &refused) == LLMRT_ERR_QUEUE_FULL);
  CHECK(last_where() == "queue_limit");
}
