// Files that are not as they should be: one sentence each, or a defined reading. Never a crash.
#include <random>

#include "tests/tokenizer/vocabulary.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

void refused(const Metadata& metadata, Code code, std::string_view part) {
  const auto made = Tokenizer::make(metadata);
  REQUIRE_FALSE(made.ok());
  CHECK(made.status().code() == code);
  INFO(std::string(made.status().message()));
  CHECK(made.status().message().find(part) != std::string_view::npos);
  CHECK(made.status().message().size() <= 300);
}

Vocabulary sound() {
  Vocabulary v = ascii_bpe("gpt-2");
  v.merges = {"a b"};
  return v;
}

}  // namespace

TEST_CASE("make tokenizer: what is missing or of another type is named") {
  refused(Metadata(), Code::format, "tokenizer.ggml.model");
  Vocabulary v;
  v.set("tokenizer.ggml.model", "gpt2");
  refused(v.metadata, Code::format, "tokenizer.ggml.tokens");
  v = sound();
  v.merges.clear();
  refused(v.finish(), Code::format, "tokenizer.ggml.merges");
  v = sound();
  v.finish();
  v.set("tokenizer.ggml.tokens", std::vector<uint64_t>{1, 2, 3});
  CHECK_FALSE(Tokenizer::make(v.metadata).ok());
  v = sound();
  v.finish();
  v.set("tokenizer.ggml.tokens", StringArray{});
  refused(v.metadata, Code::format, "0 entries");
  v = sound();
  v.types.pop_back();
  refused(v.finish(), Code::format, "tokenizer.ggml.token_type has 95 entries for 96 tokens");
  v = sound();
  v.scores.resize(3);
  refused(v.finish(), Code::format, "tokenizer.ggml.scores has 3 entries for 96 tokens");
  v = sound();
  v.finish();
  v.set("tokenizer.ggml.model", int64_t{3});
  CHECK_FALSE(Tokenizer::make(v.metadata).ok());
}

TEST_CASE("make tokenizer: models and pre-tokenizers that are not known are refused by name") {
  for (const char* model : {"t5", "bert", "rwkv", "plamo2", "none"}) {
    Vocabulary v = sound();
    v.set("tokenizer.ggml.model", model);
    refused(v.finish(), Code::unsupported, std::string("is \"").append(model));
  }
  Vocabulary v = sound();
  v.set("tokenizer.ggml.pre", "llama-bpe-2");
  refused(v.finish(), Code::unsupported, "\"llama-bpe-2\"");
  v.set("tokenizer.ggml.pre", std::string(5000, 'x'));
  refused(v.finish(), Code::unsupported, "xxx");
}

TEST_CASE("make tokenizer: a BPE file without a pre-tokenizer's name is read as default") {
  Vocabulary v = sound();
  const Token ab = v.add("ab");
  Vocabulary without;
  without.set("tokenizer.ggml.model", "gpt2");
  without.tokens = v.tokens;
  without.types = v.types;
  without.scores = v.scores;
  without.merges = v.merges;
  CHECK(encode(*make(without), "ab") == Ids{ab});
}

TEST_CASE("make tokenizer: an id outside the vocabulary is none, unless a flag asks for it") {
  Vocabulary v = sound();
  v.set("tokenizer.ggml.bos_token_id", uint64_t{4294967295})
      .set("tokenizer.ggml.padding_token_id", int64_t{-1});
  CHECK(make(v)->special().bos == -1);
  CHECK(make(v)->special().pad == -1);
  v.set("tokenizer.ggml.add_bos_token", true);
  refused(v.finish(), Code::format, "tokenizer.ggml.add_bos_token is true");
}

TEST_CASE("make tokenizer: a special token with a text of kilobytes is refused") {
  Vocabulary v = sound();
  v.add(std::string(2000, 'x'), 3);
  refused(v.finish(), Code::format, "special token 96 has 2000 bytes");
}

TEST_CASE(
    "make tokenizer: invalid UTF-8 in a text is an error with the byte offset, in a vocabulary it "
    "is harmless") {
  Vocabulary v = sound();
  v.add("\xFF\xFE");
  v.add("", 3);
  v.add("\xC3", 3);
  v.merges.push_back("\xFF a");
  const auto t = make(v);
  const auto ids = t->encode("abc\xC3(", false, false);
  REQUIRE_FALSE(ids.ok());
  CHECK(ids.status().code() == Code::invalid_argument);
  CHECK(ids.status().message() == "utf8 is not UTF-8: byte 0xc3 at offset 3");
  CHECK(t->decode(Ids{96, 98}, true) == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("make tokenizer: random vocabularies give an error or a tokenizer that works") {
  std::mt19937 random(21);
  const auto bytes = [&](size_t n) {
    std::string out(random() % n, '\0');
    const char letters[] = "ab<> |_\xE2\x96\x81\xC4\xA0\xFF\n";
    for (char& c : out) c = letters[random() % (sizeof letters - 1)];
    return out;
  };
  size_t n_made = 0;
  for (int round = 0; round < 1500; ++round) {
    Vocabulary v;
    const char* models[] = {"gpt2", "llama", "gemma4", "gpt2"};
    v.set("tokenizer.ggml.model", models[random() % 4]);
    const char* pre[] = {"gpt-2", "llama-bpe", "default", "tiny_aya"};
    v.set("tokenizer.ggml.pre", pre[random() % 4]);
    for (size_t n = random() % 60; n > 0; --n)
      v.add(bytes(8), static_cast<int64_t>(random() % 9) - 1,
            random() % 7 == 0 ? 0.0 / 0.0 : static_cast<double>(random() % 5));
    for (size_t n = random() % 60; n > 0; --n)
      v.merges.push_back(random() % 3 == 0 ? bytes(6) : bytes(4) + " " + bytes(4));
    for (const char* key :
         {"bos_token_id", "eos_token_id", "eot_token_id", "unknown_token_id", "fim_pre_token_id"})
      if (random() % 3 == 0)
        v.set(std::string("tokenizer.ggml.") + key, static_cast<int64_t>(random() % 80) - 5);
    if (random() % 3 == 0) v.set("tokenizer.ggml.add_bos_token", random() % 2 == 0);
    const auto made = Tokenizer::make(v.finish());
    if (!made.ok()) continue;
    ++n_made;
    const Tokenizer& t = **made;
    for (int i = 0; i < 4; ++i) {
      const auto ids = t.encode(i == 0 ? std::string(200, 'a') : bytes(40), true, i % 2 == 0);
      if (!ids.ok()) continue;
      for (const Token id : *ids) CHECK((id >= 0 && static_cast<uint32_t>(id) < t.n_vocab()));
      t.decode(*ids, true);
    }
  }
  CHECK(n_made > 500);
}

TEST_CASE("make tokenizer: a text beyond the limit is refused before work begins") {
  Vocabulary v = sound();
  const auto t = make(v);
  const char byte = 'a';
  const auto ids = t->encode(std::string_view(&byte, (size_t{1} << 30) + 1), false,
                             false);  // only the size is looked at
  REQUIRE_FALSE(ids.ok());
  CHECK(ids.status().code() == Code::invalid_argument);
}
