#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "embed_support.h"

using namespace embed;

namespace {

// The RSS with everything loaded. One life: load, two requests on an own-thread engine, one answer by convenience of wait(), everything released out of order.
int64_t one_cycle(const std::string& path, int32_t n_tokens) {
  llmrt_model* model = nullptr;
  REQUIRE_MESSAGE(llmrt_model_load(nullptr, path.c_str(), nullptr, &model) == LLMRT_OK,
                  llmrt_last_error());
  llmrt_engine* engine = nullptr;
  REQUIRE_MESSAGE(llmrt_engine_create(model, nullptr, &engine) == LLMRT_OK, llmrt_last_error());
  const auto prompt = some_tokens(60, vocabulary_of(model));
  llmrt_gen_options options = greedy(n_tokens);
  llmrt_request* request[2] = {};
  for (auto& r : request)
    REQUIRE_MESSAGE(
        llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &options, &r) == LLMRT_OK,
        llmrt_last_error());
  llmrt_model_release(model);
  for (auto* r : request) CHECK(llmrt_request_wait(r, 60000) == LLMRT_OK);
  const int64_t loaded = rss_bytes();
  llmrt_engine_release(engine);
  for (auto* r : request) llmrt_request_release(r);
  return loaded;
}

// Flat: with the model loaded and an answer made, and after everything was given back once the first cycles have warmed the heap.
void flat_over_cycles(const std::string& path, int n_cycles, int32_t n_tokens) {
  std::vector<int64_t> loaded, closed;
  for (int i = 0; i < n_cycles; ++i) {
    loaded.push_back(one_cycle(path, n_tokens));
    closed.push_back(rss_bytes());
  }
  const size_t last = closed.size() - 1, half = closed.size() / 2;
  MESSAGE("RSS in KiB, loaded: cycle 5 " << loaded[5] / 1024 << ", last " << loaded[last] / 1024
                                         << "; closed: cycle 5 " << closed[5] / 1024 << ", last "
                                         << closed[last] / 1024);
  // The heap trims its top or does not, a large page is there or not: the last is held against the worst of the first half.
  const auto flat = [&](const std::vector<int64_t>& rss) {
    const int64_t worst =
        *std::max_element(rss.begin(), rss.begin() + static_cast<std::ptrdiff_t>(half));
    CHECK(static_cast<double>(rss[last]) <= 1.02 * static_cast<double>(worst));
  };
  flat(loaded);
  flat(closed);
}

}  // namespace

TEST_CASE("embed: fifty cycles of load, generate and close leave RSS flat") {
  flat_over_cycles(tiny_model(), 50, 16);
}

TEST_CASE("embed: fifty cycles of a real model leave RSS flat") {
  const std::string path = real_model("smollm2-135m-q4_1");
  if (path.empty()) {
    MESSAGE("skipped: smollm2-135m-q4_1.gguf is not in LLMRT_TEST_MODELS");
    return;
  }
  flat_over_cycles(path, 50, 4);
}

TEST_CASE("embed: a memory limit below the need is told with both numbers before loading") {
  llmrt_model_options options;
  llmrt_model_options_init(&options, sizeof options);
  options.host_memory_limit = 1000;
  llmrt_model* model = nullptr;
  CHECK(llmrt_model_load(nullptr, tiny_model().c_str(), &options, &model) ==
        LLMRT_ERR_MEMORY_BUDGET);
  CHECK(model == nullptr);
  CHECK(std::string(llmrt_last_error()).find("1000") != std::string::npos);
}

namespace {
int64_t hanging_read(void* user, int64_t, void*, int64_t) {
  auto* gate = static_cast<std::atomic<bool>*>(user);
  while (!gate->load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return -1;
}
struct Blocker {
  std::atomic<bool> release{false};
  std::atomic<int> calls{0};
};
int32_t blocking_event(void* user, const llmrt_event*) {
  auto* b = static_cast<Blocker*>(user);
  b->calls.fetch_add(1);
  while (!b->release.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 0;
}
}  // namespace

TEST_CASE("embed: a source whose read hangs ends in ERR_TIMEOUT") {
  static std::atomic<bool> gate{false};  // outlives the abandoned read
  llmrt_source* source = nullptr;
  REQUIRE(llmrt_source_from_callbacks(1 << 20, hanging_read, nullptr, &gate, &source) == LLMRT_OK);
  llmrt_model_options options;
  llmrt_model_options_init(&options, sizeof options);
  options.timeout_ms = 200;
  llmrt_model* model = nullptr;
  const double start = now_ms();
  CHECK(llmrt_model_load_source(nullptr, source, &options, &model) == LLMRT_ERR_TIMEOUT);
  CHECK(now_ms() - start < 2000);
  llmrt_source_release(source);
  gate.store(true);
}

TEST_CASE("embed: a callback that blocks ends its own request in ERR_TIMEOUT and no other") {
  llmrt_model* model = nullptr;
  REQUIRE_MESSAGE(llmrt_model_load(nullptr, tiny_model().c_str(), nullptr, &model) == LLMRT_OK,
                  llmrt_last_error());
  llmrt_engine* engine = nullptr;
  REQUIRE(llmrt_engine_create(model, nullptr, &engine) == LLMRT_OK);
  const auto prompt = some_tokens(10, vocabulary_of(model));
  static Blocker blocker;
  llmrt_gen_options blocked = greedy(50), plain = greedy(50);
  blocked.delivery = 2;
  blocked.on_event = blocking_event;
  blocked.user = &blocker;
  blocked.stall_timeout_ms = 200;
  blocked.timeout_ms = 1000;
  llmrt_request *slow = nullptr, *fast = nullptr;
  REQUIRE_MESSAGE(
      llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &blocked, &slow) == LLMRT_OK,
      llmrt_last_error());
  while (blocker.calls.load() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE(llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &plain, &fast) == LLMRT_OK);
  CHECK(llmrt_request_wait(fast, 5000) == LLMRT_OK);
  CHECK(llmrt_request_wait(slow, 5000) == LLMRT_ERR_TIMEOUT);
  blocker.release.store(true);
  llmrt_request_release(slow);
  llmrt_request_release(fast);
  llmrt_engine_release(engine);
  llmrt_model_release(model);
}
