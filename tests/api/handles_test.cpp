#include <atomic>
#include <thread>

#include "api_kit.h"

using namespace api_test;

TEST_CASE("handles: a released handle is closed, and a second release does nothing") {
  llmrt_strlist* list = nullptr;
  REQUIRE_OK(llmrt_strlist_create(&list));
  llmrt_strlist_release(list);
  llmrt_strlist_release(list);
  llmrt_strlist_release(nullptr);
  CHECK(llmrt_strlist_add(list, "x") == LLMRT_ERR_CLOSED);
  CHECK(last_error().find("llmrt_strlist was released") != std::string::npos);
  // The slot is used again: the old handle still means nothing.
  llmrt_strlist* other = nullptr;
  REQUIRE_OK(llmrt_strlist_create(&other));
  CHECK(other != list);
  CHECK(llmrt_strlist_count(list) == LLMRT_ERR_CLOSED);
  CHECK(llmrt_strlist_count(other) == 0);
  llmrt_strlist_release(other);
}

TEST_CASE("handles: NULL, another kind and a foreign pointer are invalid arguments") {
  llmrt_strlist* list = nullptr;
  REQUIRE_OK(llmrt_strlist_create(&list));
  int on_stack = 0;
  CHECK(llmrt_strlist_add(nullptr, "x") == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_engine_pause(reinterpret_cast<llmrt_engine*>(list)) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "llmrt_engine expected, got a handle of llmrt_strlist");
  CHECK(llmrt_engine_pause(reinterpret_cast<llmrt_engine*>(&on_stack)) ==
        LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error().find("no handle of this library") != std::string::npos);
  llmrt_engine_release(reinterpret_cast<llmrt_engine*>(list));  // wrong kind: nothing happens
  CHECK(llmrt_strlist_count(list) == 0);
  llmrt_strlist_release(list);
}

TEST_CASE("handles: children keep their parents alive in any order of release") {
  llmrt_model* model = load_table().release();
  llmrt_engine* engine = make_engine(model).release();
  llmrt_session* session = make_session(engine).release();
  llmrt_request* request = submit(engine, "5", greedy(20)).release();
  llmrt_model_release(model);
  llmrt_engine_release(engine);
  CHECK(llmrt_request_wait(request, -1) == LLMRT_OK);
  CHECK(text_of(request) == "6789");
  char* answer = nullptr;
  CHECK_OK(llmrt_session_ask(session, "hi", nullptr, &answer));
  CHECK(take(answer) == "123456789");
  llmrt_session_release(session);
  CHECK(text_of(request) == "6789");
  llmrt_request_release(request);
}

TEST_CASE("handles: releasing a live request cancels it") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_gen_options o = greedy(-1);
  submit(engine.get(), "a", o).reset();
  llmrt_metrics m = {};
  m.struct_size = sizeof m;
  for (int i = 0; i < 2000; ++i) {
    REQUIRE_OK(llmrt_engine_metrics(engine.get(), &m));
    if (m.running == 0 && m.waiting == 0 && m.cancelled == 1) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(m.running == 0);
  CHECK(m.cancelled == 1);
}

TEST_CASE("handles: sixteen threads create, use and release") {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        llmrt_strlist* list = nullptr;
        if (llmrt_strlist_create(&list) != LLMRT_OK) ++wrong;
        if (llmrt_strlist_add(list, "x") != LLMRT_OK || llmrt_strlist_count(list) != 1) ++wrong;
        llmrt_strlist_release(list);
        if (llmrt_strlist_count(list) != LLMRT_ERR_CLOSED) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(wrong == 0);
}
