// Text out of the engine: whole code points, stop strings, end-of-generation tokens. The logits hook makes the model say what the test
// wants, so cuts fall where they hurt.
#include "../tokenizer/vocabulary.h"
#include "engine_bench.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

constexpr Token kFirstByte = 3;  // small_spm: <unk> <s> </s>, then 256 byte tokens

struct TextBench {
  static ToyOptions toy_options() {
    ToyOptions toy;
    toy.n_vocab = 259;
    return toy;
  }
  static ToyModel with_tokenizer() {
    ToyModel toy = make_toy_model(toy_options());
    Vocabulary v = small_spm();
    v.set("tokenizer.ggml.eos_token_id", uint64_t{2});
    toy.model->tokenizer = make(v);
    return toy;
  }
  TextBench() : bench(with_tokenizer(), EngineBench::host_stepped(), toy_options()) {}

  // Makes the model say these tokens, then </s> for ever.
  RequestPtr say(std::vector<Token> what, GenParams params) {
    script = std::move(what);
    at = 0;
    params.user = this;
    params.on_logits = [](void* user, int32_t, float* logits, int32_t n) {
      auto* self = static_cast<TextBench*>(user);
      const Token want = self->at < self->script.size() ? self->script[self->at++] : 2;
      for (int32_t i = 0; i < n; ++i) logits[i] = i == want ? 10.0f : -10.0f;
    };
    params.sampling.temperature = 0;
    auto request = bench.submit({1, 2, 3}, params);
    bench.run_all();
    return request;
  }
  static std::vector<Token> bytes(std::string_view text) {
    std::vector<Token> out;
    for (char c : text) out.push_back(kFirstByte + static_cast<unsigned char>(c));
    return out;
  }
  EngineBench bench;
  std::vector<Token> script;
  size_t at = 0;
};

std::string read_all(Request& request) {
  std::string text;
  Event event;
  while (request.next(0, event) == Code::ok) {
    if (event.type == EventType::text) text += event.text;
  }
  return text;
}

}  // namespace

TEST_CASE("engine text: an end-of-generation token stops and is not part of the answer") {
  TextBench b;
  auto request = b.say(TextBench::bytes("Hello"), params_for(50));
  CHECK(request->finish(0) == Finish::stop);
  CHECK(request->text(0) == "Hello");
  CHECK(request->tokens(0) == TextBench::bytes("Hello"));
  CHECK(read_all(*request) == "Hello");
}

TEST_CASE("engine text: ignore_eos goes on to max_tokens") {
  TextBench b;
  GenParams params = params_for(8);
  params.ignore_eos = true;
  auto request = b.say(TextBench::bytes("Hi"), params);
  CHECK(request->finish(0) == Finish::length);
  CHECK(request->tokens(0).size() == 8);
  CHECK(request->text(0) == "Hi");
}

TEST_CASE("engine text: events carry whole code points whatever tokens they are made of") {
  TextBench b;
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\xA6\x99z";
  auto request = b.say(TextBench::bytes(text), params_for(50));
  CHECK(request->text(0) == text);
  Event event;
  std::vector<std::string> pieces;
  int n_tokens = 0;
  while (request->next(0, event) == Code::ok) {
    if (event.type != EventType::text) continue;
    pieces.push_back(event.text);
    n_tokens += event.n_tokens;
    CHECK((event.n_tokens == 1) == (event.token >= 0));
  }
  CHECK(pieces ==
        std::vector<std::string>{"a", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\xA6\x99", "z"});
  CHECK(n_tokens == 11);
}

TEST_CASE("engine text: an answer cut inside a code point ends in the replacement character") {
  TextBench b;
  auto request = b.say(TextBench::bytes("x\xE2\x82\xAC"), params_for(3));
  CHECK(request->finish(0) == Finish::length);
  CHECK(request->text(0) == "x\xEF\xBF\xBD");
  CHECK(read_all(*request) == request->text(0));
}

TEST_CASE("engine text: a stop string across token borders leaves no trace in text and events") {
  TextBench b;
  GenParams params = params_for(50);
  params.stop = {"</a>", "END"};
  auto request = b.say(TextBench::bytes("one</b></a>two"), params);
  CHECK(request->finish(0) == Finish::stop);
  CHECK(request->text(0) == "one</b>");
  CHECK(read_all(*request) == "one</b>");
  CHECK(request->tokens(0).size() == 11);  // up to the token that completed it

  auto held = b.say(TextBench::bytes("maybe</a"), params);
  CHECK(held->finish(0) == Finish::stop);  // by </s>
  CHECK(held->text(0) == "maybe</a");
  CHECK(read_all(*held) == "maybe</a");
}

TEST_CASE("engine text: log probabilities are reported per token when asked for") {
  EngineBench b;
  GenParams params = params_for(6, 5);
  params.sampling.logprobs = 3;
  auto request = b.submit(some_prompt(10), params);
  b.run_all();
  const auto logprobs = request->logprobs(0);
  REQUIRE(logprobs.size() == 6);
  for (const auto& [chosen, top] : logprobs) {
    CHECK(top.size() == 3);
    CHECK(chosen <= 0);
    CHECK(top[0].logprob >= top[1].logprob);
  }
  CHECK(request->tokens(0) == b.expected(some_prompt(10), params, 0, 6));
}

TEST_CASE("engine text: log probabilities are the model's whatever the logits hook makes of them") {
  TextBench b;
  GenParams params = params_for(3);
  params.ignore_eos = true;
  params.sampling.logprobs = 20;
  const auto forced = b.say(TextBench::bytes("abc"), params)->logprobs(0);
  params.sampling.logprobs_processed = true;
  const auto processed = b.say(TextBench::bytes("abc"), params)->logprobs(0);
  REQUIRE(forced.size() == 3);
  REQUIRE(processed.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    // The hook leaves e^-20 to each other token: the draw is all but sure of what the model is not.
    CHECK(processed[i].logprob > -1e-5f);
    CHECK(forced[i].logprob < -0.01f);
  }
  params.sampling.logprobs_processed = false;
  params.sampling.temperature = 0;
  auto free = b.bench.submit({1, 2, 3}, params);
  b.bench.run_all();
  const auto first = free->logprobs(0);
  REQUIRE(!first.empty());
  REQUIRE(first[0].top.size() == forced[0].top.size());  // the same prompt: the same first logits
  for (size_t i = 0; i < first[0].top.size(); ++i) {
    CHECK(first[0].top[i].id == forced[0].top[i].id);
    CHECK(first[0].top[i].logprob == forced[0].top[i].logprob);
  }
}
