#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "api_kit.h"

using namespace api_test;

namespace {

Owned<llmrt_request> submit_turn(llmrt_session* session,
                                 const llmrt_gen_options* options = nullptr) {
  llmrt_request* request = nullptr;
  REQUIRE_OK(llmrt_session_submit(session, options, &request));
  return Owned<llmrt_request>(request);
}

// The table model under a metadata key that is not its template's any more.
Owned<llmrt_model> load_without_template() {
  std::ifstream file(table_path(), std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string key = "tokenizer.chat_template";
  const size_t at = bytes.find(key);
  REQUIRE(at != std::string::npos);
  bytes[at + key.size() - 1] = 'X';
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_memory(bytes.data(), bytes.size(), nullptr, nullptr, &source));
  const Owned<llmrt_source> owner(source);
  llmrt_model* model = nullptr;
  REQUIRE_OK(llmrt_model_load_source(nullptr, source, nullptr, &model));
  return Owned<llmrt_model>(model);
}

constexpr const char* kOneTurn =
    R"([{"role":"user","content":"hi"},{"role":"assistant","content":"123456789"}])";

}  // namespace

TEST_CASE("session: answers join the history, ask does it in one call") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const auto session = make_session(engine.get());
  CHECK(history_of(session.get()) == "[]");
  REQUIRE_OK(llmrt_session_add(session.get(), "user", "hi"));
  const auto request = submit_turn(session.get());
  CHECK(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
  CHECK(history_of(session.get()) == kOneTurn);
  char* answer = nullptr;
  REQUIRE_OK(llmrt_session_ask(session.get(), "and?", nullptr, &answer));
  CHECK(take(answer) == "123456789");
  CHECK(llmrt_session_token_count(session.get()) ==
        static_cast<int32_t>(
            std::string("[user]hi[assistant]123456789[user]and?[assistant]123456789>").size()));
  CHECK_OK(llmrt_session_rewind(session.get(), 2));
  CHECK(history_of(session.get()) == kOneTurn);
  CHECK(llmrt_session_rewind(session.get(), 3) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_session_rewind(session.get(), -1) == LLMRT_ERR_INVALID_ARGUMENT);
}

TEST_CASE("session: one answer at a time, and a released request rolls back") {
  const auto model = load_table();
  const auto engine = make_engine(model.get(), 1);
  const auto session = make_session(engine.get());
  REQUIRE_OK(llmrt_session_add(session.get(), "user", "hi"));
  auto request = submit_turn(session.get());
  llmrt_request* second = nullptr;
  CHECK(llmrt_session_submit(session.get(), nullptr, &second) == LLMRT_ERR_BUSY);
  CHECK(llmrt_session_add(session.get(), "user", "x") == LLMRT_ERR_BUSY);
  CHECK(llmrt_session_rewind(session.get(), 0) == LLMRT_ERR_BUSY);
  llmrt_session* fork = nullptr;
  CHECK(llmrt_session_fork(session.get(), &fork) == LLMRT_ERR_BUSY);
  CHECK(history_of(session.get()) == R"([{"role":"user","content":"hi"}])");
  request.reset();
  CHECK(history_of(session.get()) == R"([{"role":"user","content":"hi"}])");
  CHECK_OK(llmrt_session_add(session.get(), "user", "x"));
}

TEST_CASE("session: a cancelled answer is kept only if cancel says so") {
  const auto model = load_table();
  const auto engine = make_engine(model.get(), 1);
  for (const int32_t keep : {0, 1}) {
    const auto session = make_session(engine.get());
    REQUIRE_OK(llmrt_session_add(session.get(), "user", "hi"));
    const auto request = submit_turn(session.get());
    while (text_of(request.get()).size() < 3)
      REQUIRE(llmrt_engine_step(engine.get(), 0) == LLMRT_PENDING);
    CHECK_OK(llmrt_request_cancel(request.get(), keep));
    CHECK_OK(llmrt_request_cancel(request.get(), 1 - keep));  // after the end: nothing
    CHECK(llmrt_request_wait(request.get(), 0) == LLMRT_ERR_CANCELLED);
    const std::string partial = text_of(request.get());
    const std::string user = R"([{"role":"user","content":"hi"})";
    CHECK(history_of(session.get()) ==
          (keep ? user + R"(,{"role":"assistant","content":")" + partial + "\"}]" : user + "]"));
  }
}

TEST_CASE("session: a callback's nonzero answer drops the answer unless it cancelled with keep") {
  const auto model = load_table();
  const auto engine = make_engine(model.get(), 1);
  struct Stop {
    bool keep = false;
    std::string text;
  };
  for (const bool keep : {false, true}) {
    const auto session = make_session(engine.get());
    REQUIRE_OK(llmrt_session_add(session.get(), "user", "hi"));
    Stop stop = {keep, ""};
    llmrt_gen_options o = greedy(20);
    o.delivery = 2;
    o.user = &stop;
    o.on_event = [](void* user, const llmrt_event* event) -> int32_t {
      auto& s = *static_cast<Stop*>(user);
      if (event->type != LLMRT_EVENT_TEXT) return 0;
      s.text.append(event->text, event->text_len);
      if (s.text.size() < 3) return 0;
      if (s.keep) llmrt_request_cancel(event->request, 1);
      return 1;
    };
    const auto request = submit_turn(session.get(), &o);
    CHECK(llmrt_request_wait(request.get(), 10000) == LLMRT_ERR_CANCELLED);
    const std::string user = R"([{"role":"user","content":"hi"})";
    CHECK(history_of(session.get()) ==
          (keep ? user + R"(,{"role":"assistant","content":")" + text_of(request.get()) + "\"}]"
                : user + "]"));
  }
}

TEST_CASE("session: a failed ask leaves the history as it was") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const auto session = make_session(engine.get());
  char* answer = nullptr;
  llmrt_gen_options o = greedy(5);
  o.top_p = -1;
  CHECK(llmrt_session_ask(session.get(), "hi", &o, &answer) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(answer == nullptr);
  CHECK(llmrt_session_ask(session.get(), std::string(600, 'x').c_str(), nullptr, &answer) ==
        LLMRT_ERR_CONTEXT_FULL);
  CHECK(history_of(session.get()) == "[]");
  CHECK(llmrt_session_submit(session.get(), nullptr, nullptr) == LLMRT_ERR_INVALID_ARGUMENT);
  llmrt_request* request = nullptr;
  CHECK(llmrt_session_submit(session.get(), nullptr, &request) ==
        LLMRT_ERR_INVALID_ARGUMENT);  // nothing to answer
  REQUIRE_OK(llmrt_session_ask(session.get(), "hi", nullptr, &answer));
  CHECK(take(answer) == "123456789");
  CHECK(history_of(session.get()) == kOneTurn);
}

TEST_CASE("session: system message, JSON messages and forks") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_session_options o;
  llmrt_session_options_init(&o, sizeof o);
  o.system = "be brief";
  llmrt_session* session = nullptr;
  REQUIRE_OK(llmrt_session_create(engine.get(), &o, &session));
  const Owned<llmrt_session> owner(session);
  CHECK_OK(llmrt_session_add_json(session, R"({"role":"user","content":"x","name":"Ann"})"));
  CHECK(llmrt_session_add_json(session, R"({"content":"x"})") == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_session_add_json(session, "[]") == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_session_add_json(session, R"({"role":"user","content":5})") ==
        LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "message_json: content is of type number; allowed: string, array and null");
  const std::string deep =
      R"({"role":"user","content":)" + std::string(100000, '[') + std::string(100000, ']') + "}";
  CHECK(llmrt_session_add_json(session, deep.c_str()) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_session_add(session, "", "x") == LLMRT_ERR_INVALID_ARGUMENT);
  llmrt_session* fork = nullptr;
  REQUIRE_OK(llmrt_session_fork(session, &fork));
  const Owned<llmrt_session> fork_owner(fork);
  char* answer = nullptr;
  REQUIRE_OK(llmrt_session_ask(fork, "y", nullptr, &answer));
  CHECK(take(answer) == "123456789");
  CHECK(history_of(session) ==
        R"([{"role":"system","content":"be brief"},{"role":"user","content":"x","name":"Ann"}])");
}

TEST_CASE("session: malformed JSON is refused where it is given, with its name and place") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_session_options o;
  llmrt_session_options_init(&o, sizeof o);
  llmrt_session* session = nullptr;
  o.tools_json = "{}";
  CHECK(llmrt_session_create(engine.get(), &o, &session) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "tools_json must be an array of objects");
  CHECK(last_where() == "tools_json");
  o.tools_json = nullptr;
  o.template_kwargs = "nonsense";
  CHECK(llmrt_session_create(engine.get(), &o, &session) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error().find("template_kwargs: not JSON at byte 0") == 0);
  CHECK(session == nullptr);
  const auto good = make_session(engine.get());
  CHECK(llmrt_session_add_json(good.get(), "{\"role\":\"user\"") == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "message_json: not JSON at byte 14: the text ends too early");
  CHECK(llmrt_session_add_json(good.get(), "[]") == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "message_json is no JSON object");
  CHECK(history_of(good.get()) == "[]");
}

TEST_CASE(
    "session: a second submit adds a second answer, after a rewind one in place of the first") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const auto session = make_session(engine.get());
  REQUIRE_OK(llmrt_session_add(session.get(), "user", "hi"));
  REQUIRE(llmrt_request_wait(submit_turn(session.get()).get(), -1) == LLMRT_OK);
  CHECK_OK(llmrt_session_rewind(session.get(), 1));
  REQUIRE(llmrt_request_wait(submit_turn(session.get()).get(), -1) == LLMRT_OK);
  CHECK(history_of(session.get()) == kOneTurn);
  REQUIRE(llmrt_request_wait(submit_turn(session.get()).get(), -1) == LLMRT_OK);
  std::string twice = kOneTurn;
  twice.back() = ',';
  CHECK(history_of(session.get()) == twice + R"({"role":"assistant","content":"123456789"}])");
}

TEST_CASE("session: prefill computes the prompt ahead and says nothing") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const auto session = make_session(engine.get());
  REQUIRE_OK(llmrt_session_add(session.get(), "user", std::string(100, 'q').c_str()));
  llmrt_request* warm = nullptr;
  REQUIRE_OK(llmrt_session_prefill(session.get(), &warm));
  CHECK(llmrt_request_wait(warm, -1) == LLMRT_OK);
  CHECK(text_of(warm).empty());
  llmrt_request_release(warm);
  const auto request = submit_turn(session.get());
  REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
  llmrt_usage usage = {};
  usage.struct_size = sizeof usage;
  REQUIRE_OK(llmrt_request_usage(request.get(), &usage));
  CHECK(usage.prompt_tokens == 107);
  CHECK(usage.cached_tokens >= 96);
}

TEST_CASE("session: overflow 2 leaves the oldest turns out of the prompt, not out of the history") {
  const auto model = load_table();
  llmrt_engine_options eo = engine_options();
  eo.ctx_tokens = 128;
  eo.overflow = 2;
  const Owned<llmrt_engine> owner = make_engine(model.get(), eo);
  llmrt_engine* const engine = owner.get();
  const auto session = make_session(engine);
  for (int i = 0; i < 6; ++i) {
    char* answer = nullptr;
    REQUIRE_OK(llmrt_session_ask(session.get(), "a question of some length", nullptr, &answer));
    CHECK(take(answer) == "123456789");
  }
  CHECK(llmrt_session_token_count(session.get()) > 128);
}

TEST_CASE("session: a model without a template says so and names the option that helps") {
  const auto model = load_without_template();
  const auto engine = make_engine(model.get());
  const char* const messages = R"([{"role":"user","content":"hi"}])";
  llmrt_request* request = nullptr;
  llmrt_session* session = nullptr;
  char* text = nullptr;
  int32_t n = 0;
  const auto check_refused = [](llmrt_status status) {
    CHECK(status == LLMRT_ERR_TEMPLATE);
    CHECK(
        last_error() ==
        "the model has no chat template; give one with the option chat_template (text, or chatml, "
        "llama3, mistral, gemma, phi3)");
    CHECK(last_where() == "chat_template");
  };
  check_refused(llmrt_submit_chat(engine.get(), messages, nullptr, &request));
  check_refused(llmrt_session_create(engine.get(), nullptr, &session));
  check_refused(llmrt_model_ask(model.get(), "hi", nullptr, &text));
  check_refused(llmrt_chat_render(model.get(), messages, nullptr, nullptr, 1, &text));
  check_refused(llmrt_chat_count(model.get(), messages, nullptr, nullptr, 1, &n));
  CHECK(request == nullptr);
  CHECK(session == nullptr);
  CHECK(text == nullptr);
  const auto plain = submit(engine.get(), "3", greedy(2));  // text needs none
  CHECK(llmrt_request_wait(plain.get(), -1) == LLMRT_OK);
  CHECK(text_of(plain.get()) == "45");
}

TEST_CASE("session: a chat template that does not parse is told with its line") {
  llmrt_model_options o;
  llmrt_model_options_init(&o, sizeof o);
  o.chat_template = "{% if %}";
  llmrt_model* broken = nullptr;
  CHECK(llmrt_model_load(nullptr, table_path().c_str(), &o, &broken) == LLMRT_ERR_TEMPLATE);
  llmrt_error_info info = {};
  info.struct_size = sizeof info;
  REQUIRE_OK(llmrt_last_error_info(&info));
  CHECK(info.line == 1);
}

TEST_CASE("session: ask on an engine that another thread steps waits for the answer") {
  auto model = load_table();
  auto engine = make_engine(model.get(), 1);
  auto session = make_session(engine.get());
  std::atomic<bool> over{false};
  std::thread stepper([&] {
    while (!over) llmrt_engine_step(engine.get(), 100);
  });
  for (int i = 0; i < 8; ++i) {
    char* answer = nullptr;
    CHECK_OK(llmrt_session_ask(session.get(), "hi", nullptr, &answer));
    CHECK(take(answer) == "123456789");
  }
  over = true;
  stepper.join();
  CHECK(llmrt_session_token_count(session.get()) > 0);
}

TEST_CASE("session: a failed ask takes its message back whoever looks at the history meanwhile") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const auto session = make_session(engine.get());
  REQUIRE_OK(llmrt_session_add(session.get(), "user", "x"));
  CHECK_OK(llmrt_engine_pause(engine.get()));  // so that no answer comes
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over) history_of(session.get());
  });
  llmrt_gen_options o = greedy(5);
  o.timeout_ms = 5;
  for (int i = 0; i < 20; ++i) {
    char* answer = nullptr;
    CHECK(llmrt_session_ask(session.get(), "hi", &o, &answer) == LLMRT_ERR_TIMEOUT);
    CHECK(history_of(session.get()) == R"([{"role":"user","content":"x"}])");
  }
  over = true;
  reader.join();
}

TEST_CASE("session: overflow 2 leaves out as few turns as give the answer room") {
  const auto model = load_table();
  llmrt_engine_options eo = engine_options();
  eo.ctx_tokens = 128;
  eo.overflow = 2;
  const Owned<llmrt_engine> owner = make_engine(model.get(), eo);
  llmrt_engine* const engine = owner.get();
  CHECK_OK(llmrt_engine_pause(engine));  // so that no answer joins
  llmrt_session_options so;
  llmrt_session_options_init(&so, sizeof so);
  for (const char* system : {static_cast<const char*>(nullptr), "be brief"}) {
    so.system = system;
    llmrt_session* session = nullptr;
    REQUIRE_OK(llmrt_session_create(engine, &so, &session));
    const Owned<llmrt_session> session_owner(session);
    std::vector<std::string> turns;  // as JSON
    for (size_t i = 0; i < 40; ++i) {
      const std::string question(1 + i * 7 % 23, 'q'), answer(1 + i * 5 % 17, 'z');
      REQUIRE_OK(llmrt_session_add(session, "user", question.c_str()));
      const int32_t max_tokens = static_cast<int32_t>(i % 40);
      llmrt_gen_options o = greedy(max_tokens);
      const auto request = submit_turn(session, &o);
      llmrt_request_cancel(request.get(), 0);
      llmrt_usage usage = {};
      usage.struct_size = sizeof usage;
      REQUIRE_OK(llmrt_request_usage(request.get(), &usage));
      turns.push_back(R"({"role":"user","content":")" + question + "\"}");

      int32_t expected = 0;
      for (size_t skip = 0; skip < turns.size(); ++skip) {
        std::string messages = system ? R"([{"role":"system","content":"be brief"},)" : "[";
        for (size_t t = skip; t < turns.size(); ++t) messages += turns[t] + ',';
        messages.back() = ']';
        REQUIRE_OK(llmrt_chat_count(model.get(), messages.c_str(), nullptr, nullptr, 1, &expected));
        if (expected + std::min(max_tokens, 32) <= 128) break;
      }
      CHECK(usage.prompt_tokens == expected);
      REQUIRE_OK(llmrt_session_add(session, "assistant", answer.c_str()));
      turns.back() += R"(,{"role":"assistant","content":")" + answer + "\"}";
    }
  }
}
