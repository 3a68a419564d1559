// Which tokens are special, what matches them in a text, and which end a generation.
#include <random>

#include "tests/tokenizer/vocabulary.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

// "a" "b" " " as bytes, <|x|> control, <unk> unknown, <tool> user-defined.
struct Specials {
  Vocabulary v = ascii_bpe("gpt-2");
  Token x = v.add("<|x|>", 3);
  Token unk = v.add("<unk>", 2);
  Token tool = v.add("<tool>", 4);
  Token blanks = v.add("   ", 4);
  Specials() { v.merges = {"a b"}; }
  static Token letter(char c) { return c - '!'; }
};

Ids letters(const std::string& text) {
  Ids ids;
  for (const char c : text) ids.push_back(c == ' ' ? '~' - '!' + 1 : c - '!');
  return ids;
}

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Ids encode_parts(const Tokenizer& t, const std::vector<std::pair<std::string, bool>>& parts) {
  std::string text;
  std::vector<TextSpan> spans;
  for (const auto& [part, trusted] : parts) {
    spans.push_back({text.size(), text.size() + part.size(), trusted});
    text += part;
  }
  auto ids = t.encode_spans(text, spans, false);
  REQUIRE(ids.ok());
  return std::move(ids).value();
}

}  // namespace

TEST_CASE(
    "special tokens: control and unknown texts match only when asked, user-defined ones always") {
  Specials s;
  const auto t = make(s.v);
  CHECK(encode(*t, "a<|x|>b<unk><tool>") == letters("a<|x|>b<unk>") + Ids{s.tool});
  CHECK(encode(*t, "a<|x|>b<unk><tool>", false, true) ==
        letters("a") + Ids{s.x} + letters("b") + Ids{s.unk, s.tool});
  CHECK(encode(*t, "a   b") == letters("a") + Ids{s.blanks} + letters("b"));
}

TEST_CASE("special tokens: the leftmost and there the longest text wins") {
  Vocabulary v = ascii_bpe("gpt-2");
  v.merges = {"a b"};
  const Token one = v.add("<a>", 3);
  const Token two = v.add("<a><b>", 3);
  const Token three = v.add("b><c><d>", 3);
  const auto t = make(v);
  CHECK(encode(*t, "<a><a><b>", false, true) == Ids{one, two});
  CHECK(encode(*t, "<a><b><c><d>", false, true) == Ids{two} + letters("<c><d>"));
  CHECK(encode(*t, "<a<a>", false, true) == letters("<a") + Ids{one});
  CHECK(encode(*t, "<b><c><d>", false, true) == letters("<") + Ids{three});
  CHECK(encode(*t, "<a", false, true) == letters("<a"));
}

TEST_CASE(
    "special tokens: random texts over overlapping specials equal a naive leftmost-longest "
    "search") {
  std::mt19937 random(9);
  Vocabulary v = ascii_bpe("gpt-2");
  v.merges = {"x y"};
  std::vector<std::pair<std::string, Token>> specials;
  for (const char* text : {"<", "<<", "<a", "<a<", "a<", "aa>", ">", "<a>a"}) {
    // One-byte texts collide with the ordinary tokens of the alphabet, as they may in files: the special one wins when asked.
    specials.emplace_back(text, v.add(text, 3));
  }
  const auto t = make(v);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t n = random() % 12; n > 0; --n) text += "<a>"[random() % 3];
    Ids want;
    for (size_t at = 0; at < text.size();) {
      size_t best = 0;
      Token id = -1;
      for (const auto& [s, token] : specials)
        if (text.compare(at, s.size(), s) == 0 && s.size() > best) {
          best = s.size();
          id = token;
        }
      want.push_back(best ? id : Specials::letter(text[at]));
      at += best ? best : 1;
    }
    CHECK(encode(*t, text, false, true) == want);
  }
}

TEST_CASE("special tokens: in spans they match only where every byte is trusted") {
  Specials s;
  const auto t = make(s.v);
  CHECK(encode_parts(*t, {{"<|x|>", true}, {"<|x|>", false}, {"<|x|>", true}}) ==
        Ids{s.x} + letters("<|x|>") + Ids{s.x});
  // A text that only arises where parts meet is plain, unless both are trusted.
  CHECK(encode_parts(*t, {{"<|", true}, {"x|>", false}}) == letters("<|x|>"));
  CHECK(encode_parts(*t, {{"<|", false}, {"x|>", true}}) == letters("<|x|>"));
  CHECK(encode_parts(*t, {{"<|", true}, {"x|>", true}}) == Ids{s.x});
  CHECK(encode_parts(*t, {{"<|", true}, {"", false}, {"x|>", true}}) == Ids{s.x});
  CHECK(encode_parts(*t, {{"<tool>", false}}) == Ids{s.tool});
  // Bytes outside all spans are not trusted.
  const TextSpan front{0, 5, true};
  CHECK(*t->encode_spans("<|x|><|x|>", {&front, 1}, false) == Ids{s.x} + letters("<|x|>"));
}

TEST_CASE("special tokens: the text between specials is one run across span borders") {
  Vocabulary v = ascii_bpe("gpt-2");
  const Token ab = v.add("ab");
  const Token blank_a = v.add(
      "\xC4\xA0"
      "a");
  v.merges = {"\xC4\xA0 a", "a b"};
  const auto t = make(v);
  CHECK(encode_parts(*t, {{"a", true}, {"b", false}}) == Ids{ab});
  CHECK(encode_parts(*t, {{" ", true}, {"a", false}}) == Ids{blank_a});
}

TEST_CASE("special tokens: spans out of order, overlapping or outside the text are refused") {
  Specials s;
  const auto t = make(s.v);
  const std::vector<std::vector<TextSpan>> wrong = {{{2, 1, true}},
                                                    {{0, 4, true}},
                                                    {{1, 2, true}, {0, 1, true}},
                                                    {{0, 2, true}, {1, 3, true}},
                                                    {{5, 5, true}}};
  for (const auto& spans : wrong) {
    const auto ids = t->encode_spans("abc", spans, false);
    CHECK_FALSE(ids.ok());
    CHECK(ids.status().code() == Code::invalid_argument);
  }
}

TEST_CASE("special tokens: Phi-3's swallow the white space behind them, whoever wrote it") {
  Specials s;
  s.v.set("general.name", "Phi-3 mini");
  const auto t = make(s.v);
  CHECK(encode(*t, "<|x|> \n a", false, true) == Ids{s.x} + letters("a"));
  CHECK(encode(*t, "<unk> a", false, true) == Ids{s.unk} + letters(" a"));
}

TEST_CASE("special tokens: what ends a generation is the named ids and the known texts") {
  Vocabulary v = ascii_bpe("gpt-2");
  v.merges = {"a b"};
  const Token eos = v.add("</end>", 3);
  const Token named_eot = v.add("<stop>", 3);
  const Token im_end = v.add("<|im_end|>", 1);  // files do call it ordinary
  const Token other = v.add("<|other|>", 3);
  v.set("tokenizer.ggml.eos_token_id", uint64_t{static_cast<uint64_t>(eos)});
  v.set("tokenizer.ggml.eot_token_id", uint64_t{static_cast<uint64_t>(named_eot)});
  const auto t = make(v);
  for (const Token id : {eos, named_eot, im_end}) CHECK(t->is_end_of_generation(id));
  CHECK_FALSE(t->is_end_of_generation(other));
  CHECK_FALSE(t->is_end_of_generation(-1));
  CHECK_FALSE(t->is_end_of_generation(1 << 20));
  CHECK(t->special().eot == named_eot);
  CHECK((t->token_attr(im_end) & kTokenControl) != 0);
  CHECK(t->decode(Ids{0, im_end}, false) == "!");
}

TEST_CASE("special tokens: a message's end does not end a harmony answer") {
  Vocabulary v = ascii_bpe("gpt-2");
  v.merges = {"a b"};
  const Token end = v.add("<|end|>", 3);
  CHECK(make(v)->is_end_of_generation(end));
  const Token call = v.add("<|call|>", 3);
  const Token ret = v.add("<|return|>", 3);
  const auto t = make(v);
  CHECK_FALSE(t->is_end_of_generation(end));
  CHECK(t->is_end_of_generation(call));
  CHECK(t->is_end_of_generation(ret));
  CHECK(t->special().eot == -1);
  CHECK(encode(*t, "<|end|>") == letters("<|end|>"));  // still no id of a user's text
}

TEST_CASE("special tokens: added ones go before and after the text as the file says") {
  Specials s;
  s.v.set("tokenizer.ggml.bos_token_id", uint64_t{static_cast<uint64_t>(s.x)});
  s.v.set("tokenizer.ggml.eos_token_id", uint64_t{static_cast<uint64_t>(s.tool)});
  CHECK(encode(*make(s.v), "a", true) == letters("a"));
  s.v.set("tokenizer.ggml.add_bos_token", true).set("tokenizer.ggml.add_eos_token", true);
  CHECK(encode(*make(s.v), "a", true) == Ids{s.x} + letters("a") + Ids{s.tool});
  CHECK(encode(*make(s.v), "a", false) == letters("a"));
}
