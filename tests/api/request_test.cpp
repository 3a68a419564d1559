#include <limits>
#include <set>
#include <string_view>

#include "api_kit.h"

using namespace api_test;

TEST_CASE("request: events join to the text, DONE comes last and once, then END for ever") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_gen_options o = greedy(50);
  o.tag = 77;
  const auto request = submit(engine.get(), "3", o);
  std::string text;
  int n_done = 0;
  llmrt_event event = empty_event();
  llmrt_status status = LLMRT_OK;
  while ((status = llmrt_request_next(request.get(), -1, &event)) == LLMRT_OK) {
    CHECK(n_done == 0);
    CHECK(event.request == request.get());
    CHECK(event.tag == 77);
    if (event.type == LLMRT_EVENT_TEXT) text.append(event.text, event.text_len);
    if (event.type == LLMRT_EVENT_DONE) {
      ++n_done;
      CHECK(event.finish == LLMRT_FINISH_STOP);
      CHECK(event.error == LLMRT_OK);
    }
  }
  CHECK(status == LLMRT_END);
  CHECK(n_done == 1);
  CHECK(text == "456789");
  CHECK(text_of(request.get()) == text);
  CHECK(llmrt_request_next(request.get(), 0, &event) == LLMRT_END);
  CHECK(llmrt_request_wait(request.get(), 0) == LLMRT_OK);
  CHECK(llmrt_request_finish(request.get(), 0) == LLMRT_FINISH_STOP);
}

TEST_CASE("request: tokens, usage and the message of an answer") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_gen_options o = greedy(3);
  o.logprobs = 2;
  o.seed = int64_t{1} << 40;
  const auto request = submit(engine.get(), "aab", o);
  REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
  CHECK(llmrt_request_finish(request.get(), 0) == LLMRT_FINISH_LENGTH);
  int32_t ids[3] = {}, n = 0;
  CHECK(llmrt_request_tokens(request.get(), 0, ids, 2, &n) == LLMRT_ERR_BUFFER_TOO_SMALL);
  CHECK(n == 3);
  REQUIRE_OK(llmrt_request_tokens(request.get(), 0, ids, 3, &n));
  CHECK(ids[0] == 'c');
  CHECK(ids[2] == 'e');
  llmrt_usage usage = {};
  usage.struct_size = sizeof usage;
  REQUIRE_OK(llmrt_request_usage(request.get(), &usage));
  CHECK(usage.prompt_tokens == 3);
  CHECK(usage.generated_tokens == 3);
  CHECK(usage.seed == int64_t{1} << 40);
  CHECK(std::string(usage.isa) != "");
  char* json = nullptr;
  REQUIRE_OK(llmrt_request_message(request.get(), 0, &json));
  const std::string message = take(json);
  CHECK(message.find(R"("content":"cde","finish":"length","logprobs":[{"id":99,)") !=
        std::string::npos);
  CHECK(llmrt_request_text(request.get(), 1, &json) == LLMRT_ERR_NOT_FOUND);
  CHECK(llmrt_request_finish(request.get(), -1) == LLMRT_ERR_NOT_FOUND);
}

TEST_CASE("request: text_flags say what is added to a text and what its special text becomes") {
  llmrt_model_options m;
  llmrt_model_options_init(&m, sizeof m);
  m.metadata_overrides =
      R"({"tokenizer.ggml.add_bos_token": true, "tokenizer.ggml.bos_token_id": 256})";
  const auto model = load_table(&m);
  const auto engine = make_engine(model.get());
  // <|end|> is 7 bytes, each a token, or the one special token; 256 before it all is the BOS.
  const int32_t n_prompt[] = {1 + 1 + 7 + 1, 1 + 7 + 1, 1 + 1 + 1 + 1, 1 + 1 + 1};
  for (int32_t flags = 0; flags < 4; ++flags) {
    INFO(flags);
    llmrt_gen_options o = greedy(2);
    o.text_flags = flags;
    const auto request = submit(engine.get(), "x<|end|>a", o);
    REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
    CHECK(text_of(request.get()) == "bc");
    llmrt_usage usage = {};
    usage.struct_size = sizeof usage;
    REQUIRE_OK(llmrt_request_usage(request.get(), &usage));
    CHECK(usage.prompt_tokens == n_prompt[flags]);
  }
  // A lone <|end|> is no text of two tokens: what it becomes decides what follows.
  llmrt_gen_options o = greedy(1);
  o.text_flags = 1;
  const auto as_text = submit(engine.get(), "<|end|>", o);
  o.text_flags = 3;
  const auto as_token = submit(engine.get(), "<|end|>", o);
  for (const auto* request : {&as_text, &as_token}) {
    REQUIRE(llmrt_request_wait(request->get(), -1) == LLMRT_OK);
    llmrt_usage usage = {};
    usage.struct_size = sizeof usage;
    REQUIRE_OK(llmrt_request_usage(request->get(), &usage));
    CHECK(usage.prompt_tokens == (request == &as_text ? 7 : 1));
  }
}

TEST_CASE("request: logprobs are of the model's logits, or of what was drawn from if asked for") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const auto message_of = [&](const llmrt_gen_options& o) {
    const auto request = submit(engine.get(), "!", o);
    REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
    char* json = nullptr;
    REQUIRE_OK(llmrt_request_message(request.get(), 0, &json));
    const std::string message = take(json);
    const size_t at = message.find("\"logprobs\":");
    REQUIRE(at != std::string::npos);
    return message.substr(at);
  };
  llmrt_gen_options o = greedy(1);
  o.logprobs = 4;
  const std::string of_model = message_of(o);
  const auto only_a = [](void*, int32_t, float* logits, int32_t n) {
    for (int32_t i = 0; i < n; ++i)
      if (i != 'A') logits[i] = -std::numeric_limits<float>::infinity();
  };
  o.logit_bias = "{\"65\": 3}";  // the draw is A in any case
  const std::string biased = message_of(o);
  o.on_logits = only_a;
  CHECK(message_of(o) == biased);
  CHECK(biased.substr(biased.find("\"top\"")) == of_model.substr(of_model.find("\"top\"")));
  o.logprobs_processed = 1;
  CHECK(message_of(o) ==
        R"("logprobs":[{"id":65,"logprob":0.0,"top":[{"id":65,"logprob":0.0}]}]})");
  o.on_logits = nullptr;
  CHECK(message_of(o) != biased);
}

TEST_CASE("request: cancel ends it, text stays readable, and the error is cancelled") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const auto request = submit(engine.get(), "a", greedy(-1));
  llmrt_event event = empty_event();
  while (llmrt_request_next(request.get(), -1, &event) == LLMRT_OK &&
         event.type != LLMRT_EVENT_TEXT) {
  }
  CHECK_OK(llmrt_request_cancel(request.get(), 0));
  CHECK_OK(llmrt_request_cancel(request.get(), 1));  // idempotent
  CHECK(llmrt_request_wait(request.get(), -1) == LLMRT_ERR_CANCELLED);
  const std::string text = text_of(request.get());  // as far as it came
  CHECK(!text.empty());
  CHECK(std::string("bcdefghijklmnopqrstuvwxyz").substr(0, text.size()) == text.substr(0, 25));
  llmrt_error_info error = {};
  error.struct_size = sizeof error;
  REQUIRE_OK(llmrt_request_error(request.get(), &error));
  CHECK(error.status == LLMRT_ERR_CANCELLED);
  CHECK(std::string(error.message) == "it was cancelled before it was done");
  CHECK(llmrt_request_wait(request.get(), 0) == LLMRT_ERR_CANCELLED);
  CHECK(last_error() == "it was cancelled before it was done");
  CHECK(llmrt_request_finish(request.get(), 0) == LLMRT_FINISH_CANCELLED);
}

TEST_CASE("request: a host-stepped engine works only inside calls") {
  const auto model = load_table();
  const auto engine = make_engine(model.get(), 1);
  const auto request = submit(engine.get(), "7", greedy(20));
  llmrt_event event = empty_event();
  CHECK(llmrt_request_next(request.get(), 0, &event) == LLMRT_PENDING);
  CHECK(llmrt_request_wait(request.get(), 0) == LLMRT_PENDING);
  SUBCASE("by step") {
    for (int i = 0; i < 1000 && llmrt_engine_step(engine.get(), 0) == LLMRT_PENDING; ++i) {
    }
    CHECK(llmrt_request_wait(request.get(), 0) == LLMRT_OK);
  }
  SUBCASE("by a step until no work is left") {
    CHECK(llmrt_engine_step(engine.get(), -1) == LLMRT_OK);
  }
  SUBCASE("by waiting") { CHECK(llmrt_request_wait(request.get(), 10000) == LLMRT_OK); }
  CHECK(text_of(request.get()) == "89");
}

TEST_CASE(
    "request: samples share the prompt, have seeds of their own, and the seed tells them again") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_gen_options o = greedy(40);
  o.temperature = 1;
  o.n = 4;
  const auto request = submit(engine.get(), "!", o);
  REQUIRE(llmrt_request_wait(request.get(), -1) == LLMRT_OK);
  std::set<std::string> texts;
  for (int32_t i = 0; i < 4; ++i) texts.insert(text_of(request.get(), i));
  CHECK(texts.size() == 4);
  llmrt_usage usage = {};
  usage.struct_size = sizeof usage;
  REQUIRE_OK(llmrt_request_usage(request.get(), &usage));
  o.seed = usage.seed;
  const auto again = submit(engine.get(), "!", o);
  REQUIRE(llmrt_request_wait(again.get(), -1) == LLMRT_OK);
  for (int32_t i = 0; i < 4; ++i) CHECK(text_of(again.get(), i) == text_of(request.get(), i));
}

TEST_CASE("request: stop strings leave no trace in text and events") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  llmrt_strlist* stop = nullptr;
  REQUIRE_OK(llmrt_strlist_create(&stop));
  REQUIRE_OK(llmrt_strlist_add(stop, "fgh"));
  llmrt_gen_options o = greedy(50);
  o.stop = stop;
  const auto request = submit(engine.get(), "a", o);
  llmrt_strlist_release(stop);  // copied by submit
  std::string text;
  llmrt_event event = empty_event();
  while (llmrt_request_next(request.get(), -1, &event) == LLMRT_OK)
    if (event.type == LLMRT_EVENT_TEXT) text.append(event.text, event.text_len);
  CHECK(text == "bcde");
  CHECK(text_of(request.get()) == "bcde");
  CHECK(llmrt_request_finish(request.get(), 0) == LLMRT_FINISH_STOP);
}

TEST_CASE("request: prompts at the edge of the context") {
  const auto model = load_table();
  llmrt_engine_options eo = engine_options();
  eo.ctx_tokens = 64;
  const Owned<llmrt_engine> owner = make_engine(model.get(), eo);
  llmrt_engine* const engine = owner.get();
  const std::vector<int32_t> prompt(66, 'a');
  const llmrt_gen_options o = greedy(1);
  for (size_t n = 62; n <= 66; ++n) {
    INFO(n);
    llmrt_request* request = nullptr;
    const llmrt_status status = llmrt_submit_tokens(engine, prompt.data(), n, &o, &request);
    const Owned<llmrt_request> request_owner(request);
    if (n <= 63) {
      REQUIRE_OK(status);
      CHECK(llmrt_request_wait(request, -1) == LLMRT_OK);
      CHECK(text_of(request) == "b");
    } else if (n > 64) {
      CHECK(status == LLMRT_ERR_CONTEXT_FULL);
      CHECK(last_error().find("64") != std::string::npos);
    }
  }
  llmrt_request* request = nullptr;
  const int32_t outside = 258;
  CHECK(llmrt_submit_tokens(engine, &outside, 1, &o, &request) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_submit_tokens(engine, prompt.data(), 0, &o, &request) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_submit_text(engine, "\xff", 1, &o, &request) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_submit_text(engine, "", 0, &o, &request) == LLMRT_ERR_INVALID_ARGUMENT);
}

TEST_CASE("request: submit_chat answers through the template") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  const llmrt_gen_options o = greedy(50);
  llmrt_request* request = nullptr;
  REQUIRE_OK(
      llmrt_submit_chat(engine.get(), R"([{"role":"user","content":"hello"}])", &o, &request));
  const Owned<llmrt_request> owner(request);
  CHECK(llmrt_request_wait(request, -1) == LLMRT_OK);
  CHECK(text_of(request) == "123456789");
  llmrt_request* none = nullptr;
  CHECK(llmrt_submit_chat(engine.get(), "{", &o, &none) < 0);
  CHECK(llmrt_submit_chat(engine.get(), "[1]", &o, &none) < 0);
  CHECK(llmrt_submit_chat(engine.get(), "[]", &o, &none) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_error() == "messages_json has no message to answer; add one first");
  CHECK(llmrt_submit_chat(engine.get(),
                          (std::string(100000, '[') + std::string(100000, ']')).c_str(), &o,
                          &none) < 0);
  CHECK(none == nullptr);
}

TEST_CASE("request: a timeout names the option that set it") {
  const auto model = load_table();
  const auto engine = make_engine(model.get());
  CHECK_OK(llmrt_engine_pause(engine.get()));
  llmrt_gen_options o = greedy(5);
  o.timeout_ms = 10;
  const auto request = submit(engine.get(), "a", o);
  CHECK(llmrt_request_wait(request.get(), -1) == LLMRT_ERR_TIMEOUT);
  CHECK(last_where() == "timeout_ms");
}
