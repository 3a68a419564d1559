#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "api_kit.h"

using namespace api_test;

namespace {

struct Seen {
  std::string text;
  std::atomic<int> n_done{0};
  llmrt_request* request = nullptr;
  llmrt_engine* engine = nullptr;
  llmrt_status inner_wait = LLMRT_OK, inner_submit = LLMRT_OK, inner_usage = LLMRT_ERR_INTERNAL;
  int32_t stop_after = -1, n_busy = 0;
  bool release_all = false;
};

int32_t on_event(void* user, const llmrt_event* event) {
  auto& seen = *static_cast<Seen*>(user);
  if (event->type == LLMRT_EVENT_TEXT) seen.text.append(event->text, event->text_len);
  if (event->type == LLMRT_EVENT_DONE) {
    seen.request = event->request;
    ++seen.n_done;
  }
  if (event->type == LLMRT_EVENT_TEXT && seen.inner_wait == LLMRT_OK) {
    seen.inner_wait = llmrt_request_wait(event->request, -1);
    llmrt_request* other = nullptr;
    seen.inner_submit = llmrt_submit_text(seen.engine, "a", 1, nullptr, &other);
    llmrt_event next = empty_event();
    const int32_t token = 'a';
    float logits[258];
    size_t n = 0;
    for (const llmrt_status status :
         {llmrt_engine_step(seen.engine, 0), llmrt_engine_pause(seen.engine),
          llmrt_engine_resume(seen.engine), llmrt_engine_trim(seen.engine, 1),
          llmrt_engine_close(seen.engine, 0), llmrt_engine_next(seen.engine, 0, &next),
          llmrt_request_next(event->request, 0, &next),
          llmrt_evaluate(seen.engine, &token, 1, 0, logits, 258, &n)})
      seen.n_busy += status == LLMRT_ERR_BUSY;
    llmrt_usage usage = {};
    usage.struct_size = sizeof usage;
    seen.inner_usage = llmrt_request_usage(event->request, &usage);
  }
  if (seen.release_all) {
    llmrt_engine_release(seen.engine);
    llmrt_request_release(event->request);
  }
  return seen.stop_after >= 0 && static_cast<int32_t>(seen.text.size()) >= seen.stop_after;
}

void ban_all_but_z(void*, int32_t, float* logits, int32_t n) {
  for (int32_t i = 0; i < n; ++i)
    if (i != 'z') logits[i] = -100.0f;
}

void wait_for(const std::atomic<int>& count) {
  for (int i = 0; i < 5000 && count.load() == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

TEST_CASE("callback: events arrive, waiting inside is busy, reading inside works") {
  const auto model = load_table();
  for (const int32_t threading : {0, 1}) {
    const auto engine = make_engine(model.get(), threading);
    Seen seen;
    seen.engine = engine.get();
    llmrt_gen_options o = greedy(30);
    o.delivery = 2;
    o.on_event = on_event;
    o.user = &seen;
    const auto request = submit(engine.get(), "4", o);
    if (threading == 0) wait_for(seen.n_done);
    CHECK(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
    CHECK(seen.n_busy == 8);
    CHECK(seen.text == "56789");
    CHECK(seen.n_done == 1);
    CHECK(seen.request == request.get());
    CHECK(seen.inner_wait == LLMRT_ERR_BUSY);
    CHECK(seen.inner_submit == LLMRT_ERR_BUSY);
    CHECK(seen.inner_usage == LLMRT_OK);
  }
}

TEST_CASE("callback: a nonzero answer cancels") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  Seen seen;
  seen.engine = engine.get();
  seen.stop_after = 5;
  llmrt_gen_options o = greedy(-1);
  o.delivery = 2;
  o.on_event = on_event;
  o.user = &seen;
  const auto request = submit(engine.get(), "a", o);
  CHECK(llmrt_request_wait(request.get(), 10000) == LLMRT_ERR_CANCELLED);
  wait_for(seen.n_done);
  CHECK(seen.n_done == 1);
  CHECK(seen.text.substr(0, 5) == "bcdef");
}

TEST_CASE("callback: releasing engine and request inside does not wait for itself") {
  auto model = load_table();
  Seen seen;
  seen.release_all = true;
  seen.inner_wait = LLMRT_ERR_BUSY;  // not tried
  llmrt_engine* engine = make_engine(model.get()).release();
  seen.engine = engine;
  llmrt_gen_options o = greedy(-1);
  o.delivery = 2;
  o.on_event = on_event;
  o.user = &seen;
  submit(engine, "a", o).release();
  wait_for(seen.n_done);
  model.reset();
  std::this_thread::sleep_for(
      std::chrono::milliseconds(50));  // the last owner ends the engine on a thread of its own
  CHECK(llmrt_engine_pause(engine) == LLMRT_ERR_CLOSED);
}

TEST_CASE("callback: logits may be edited before the draw") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_gen_options o = greedy(4);
  o.on_logits = ban_all_but_z;
  const auto request = submit(engine.get(), "a", o);
  CHECK(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
  CHECK(text_of(request.get()) == "zzzz");
}

TEST_CASE("callback: a release waits for no callback, and DONE comes all the same") {
  struct Shared {
    std::mutex mutex;  // the host's, held while it releases
    std::atomic<int> n_calls{0}, n_done{0}, n_named{0};
  };
  const auto model = load_table();
  for (const bool engine_last : {false, true}) {
    Shared shared;
    llmrt_engine* engine = make_engine(model.get()).release();
    llmrt_gen_options o = greedy(-1);
    o.delivery = 2;
    o.user = &shared;
    o.on_event = [](void* user, const llmrt_event* event) -> int32_t {
      auto& s = *static_cast<Shared*>(user);
      ++s.n_calls;
      {
        const std::lock_guard lock(s.mutex);
        s.n_named += event->request != nullptr;
      }
      s.n_done += event->type == LLMRT_EVENT_DONE;  // last: nothing of s is used after DONE
      return 0;
    };
    {
      const std::lock_guard lock(shared.mutex);
      llmrt_request* request = submit(engine, "a", o).release();
      wait_for(shared.n_calls);
      if (engine_last) llmrt_request_release(request);
      llmrt_engine_release(engine);
      llmrt_request_release(request);
    }
    wait_for(shared.n_done);
    CHECK(shared.n_done == 1);
    CHECK(shared.n_named <= 1);  // the one that waited; then the handle is gone
  }
}

TEST_CASE("callback: threading 1: the release that ends the engine delivers DONE") {
  const auto model = load_table();
  std::atomic<int> n_done{0};
  llmrt_engine* engine = make_engine(model.get(), 1).release();
  llmrt_gen_options o = greedy(-1);
  o.delivery = 2;
  o.user = &n_done;
  o.on_event = [](void* user, const llmrt_event* event) -> int32_t {
    *static_cast<std::atomic<int>*>(user) += event->type == LLMRT_EVENT_DONE;
    return 0;
  };
  submit(engine, "a", o).reset();
  CHECK(n_done == 0);
  llmrt_engine_release(engine);
  CHECK(n_done == 1);
}
