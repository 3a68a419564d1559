#include "tokenizer/stream_decoder.h"

#include "tests/tokenizer/vocabulary.h"
#include "tokenizer/unicode.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

std::vector<std::string> stream(const Tokenizer& t, const Ids& ids, bool at_start = true) {
  StreamDecoder decoder(t, false, at_start);
  std::vector<std::string> events;
  for (const Token id : ids) {
    std::string out;
    decoder.push(id, out);
    if (!out.empty()) events.push_back(out);
  }
  std::string rest;
  decoder.finish(rest);
  if (!rest.empty()) events.push_back(rest);
  return events;
}

using Events = std::vector<std::string>;

}  // namespace

TEST_CASE("stream decoder: characters split over tokens come out whole") {
  Vocabulary v = small_spm();
  const auto t = make(v);
  const std::string llama = "\xF0\x9F\xA6\x99";
  std::string text = "x";
  text.append(llama).append("\xC3\xA9y");
  Ids ids;
  for (const char c : text) ids.push_back(3 + static_cast<uint8_t>(c));
  CHECK(stream(*t, ids) == Events{"x", llama, "\xC3\xA9", "y"});
}

TEST_CASE(
    "stream decoder: bytes that can never become a character are replacements, an unfinished end "
    "too") {
  Vocabulary v = small_spm();
  const auto t = make(v);
  const auto byte = [](uint8_t b) { return static_cast<Token>(3 + b); };
  CHECK(stream(*t, {byte('a'), byte(0xFF), byte('b')}) == Events{"a", "\xEF\xBF\xBD", "b"});
  CHECK(stream(*t, {byte(0xE2), byte(0x82), byte('z')}) == Events{"\xEF\xBF\xBDz"});
  CHECK(stream(*t, {byte('a'), byte(0xF0), byte(0x9F)}) == Events{"a", "\xEF\xBF\xBD"});
}

TEST_CASE(
    "stream decoder: the vocabulary's own leading blank is dropped at the start of a text and "
    "nowhere else") {
  Vocabulary v = small_spm();
  const Token hello = v.add("\xE2\x96\x81Hello");
  const Token world = v.add("\xE2\x96\x81world");
  const Token mark = v.add("\xE2\x96\x81");
  const auto t = make(v);
  CHECK(t->decode(Ids{hello, world}, false) == "Hello world");
  CHECK(t->decode(Ids{1, hello, world}, false) == "Hello world");
  CHECK(t->decode(Ids{1, hello, world}, true) == "<s> Hello world");
  CHECK(t->decode(Ids{mark, hello}, false) == " Hello");
  CHECK(stream(*t, {hello, world}, false) == Events{" Hello", " world"});
  CHECK(stream(*t, {mark, hello}, false) == Events{" ", " Hello"});
  v.set("tokenizer.ggml.add_space_prefix", false);
  CHECK(make(v)->decode(Ids{hello, world}, false) == " Hello world");
}

TEST_CASE(
    "stream decoder: special tokens are silent unless asked for, ids outside the vocabulary "
    "always") {
  Vocabulary v = small_spm();
  const Token a = v.add("a");
  const Token user = v.add("<tool>", 4);
  const Token unused = v.add("<hole>", 5);
  const auto t = make(v);
  CHECK(t->decode(Ids{0, 1, a, user, 2, unused, -1, 1 << 20}, false) == "a<tool>");
  CHECK(t->decode(Ids{0, 1, a, user, 2, unused, -1, 1 << 20}, true) == "<unk><s>a<tool></s>");
}

TEST_CASE("stream decoder: every way of feeding ids gives the text of decoding them at once") {
  Vocabulary v = small_spm();
  const auto t = make(v);
  uint32_t seed = 1;
  for (int round = 0; round < 200; ++round) {
    Ids ids;
    for (int i = 0; i < 30; ++i) {
      seed = seed * 1664525 + 1013904223;
      const uint8_t bytes[] = {'a',  ' ',  0xC3, 0xA9, 0xE2, 0x82, 0xAC,
                               0xF0, 0x9F, 0xA6, 0x99, 0xED, 0xA0, 0xFF};
      ids.push_back(3 + bytes[(seed >> 16) % sizeof bytes]);
    }
    std::string joined;
    for (const std::string& event : stream(*t, ids)) {
      CHECK(utf8_error_offset(event) == std::string_view::npos);
      joined += event;
    }
    CHECK(joined == t->decode(ids, false));
  }
}
