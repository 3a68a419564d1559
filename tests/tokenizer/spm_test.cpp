// SentencePiece by score, against a naive reading of the definition.
#include <algorithm>
#include <map>
#include <random>

#include "tests/tokenizer/vocabulary.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

const std::string kMark = "\xE2\x96\x81";

std::string marked(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == ' ' ? kMark : std::string(1, c);
  return out;
}

// Join the neighbours whose text is the token of highest score, leftmost first. ASCII only; `text` has marks.
Ids naive(const Vocabulary& v, const std::string& text) {
  std::map<std::string, size_t> ids;
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (v.types[i] == 1) ids.emplace(v.tokens[i], i);
  std::vector<std::string> parts;
  for (size_t i = 0; i < text.size();) {
    const size_t n = static_cast<unsigned char>(text[i]) >= 0x80 ? 3 : 1;
    parts.push_back(text.substr(i, n));
    i += n;
  }
  for (;;) {
    double best = 0;
    size_t at = SIZE_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ids.find(parts[i] + parts[i + 1]);
      if (found == ids.end()) continue;
      if (at == SIZE_MAX || v.scores[found->second] > best) {
        best = v.scores[found->second];
        at = i;
      }
    }
    if (at == SIZE_MAX) break;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  Ids out;
  for (const std::string& part : parts) {
    if (const auto found = ids.find(part); found != ids.end())
      out.push_back(static_cast<Token>(found->second));
    else
      for (const char c : part) out.push_back(3 + static_cast<uint8_t>(c));
  }
  return out;
}

}  // namespace

TEST_CASE(
    "spm: random scored vocabularies equal the definition, tokens with a mark inside included") {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    Vocabulary v = small_spm();
    std::vector<std::string> pieces = {"a", "b", kMark};
    v.add("a");
    v.add(kMark);  // "b" is not a token of its own: bytes
    for (int i = 0; i < 40; ++i) {
      const std::string text = pieces[random() % pieces.size()] + pieces[random() % pieces.size()];
      if (text.size() > 14 || std::find(pieces.begin(), pieces.end(), text) != pieces.end())
        continue;
      if (round % 2 == 0 && text.find(kMark, 1) != std::string::npos &&
          !text.starts_with(kMark + kMark))
        continue;
      pieces.push_back(text);
      v.add(text, 1, -static_cast<double>(random() % 6));  // many equal scores
    }
    const auto t = make(v);
    for (const size_t n : {1u, 5u, 40u, 70u, 400u}) {
      std::string text;
      for (size_t i = 0; i < n; ++i) text += "ab "[random() % 3];
      CHECK(encode(*t, text) == naive(v, marked(" " + text)));
    }
  }
}

TEST_CASE("spm: the best score joins first, leftmost among equals") {
  Vocabulary v = small_spm();
  v.set("tokenizer.ggml.add_space_prefix", false);
  const Token a = v.add("a");
  const Token c = v.add("c");
  const Token ab = v.add("ab", 1, -2);
  const Token bc = v.add("bc", 1, -1);
  const Token aa = v.add("aa", 1, -3);
  const auto t = make(v);
  CHECK(encode(*t, "abc") == Ids{a, bc});
  CHECK(encode(*t, "ab") == Ids{ab});
  CHECK(encode(*t, "aaa") == Ids{aa, a});
  CHECK(encode(*t, "cab") == Ids{c, ab});
}

TEST_CASE(
    "spm: a character that is no token becomes its bytes, or the unknown token where bytes are "
    "missing") {
  Vocabulary v = small_spm();
  v.set("tokenizer.ggml.add_space_prefix", false);
  CHECK(encode(*make(v), "\xC3\xA9") == Ids{3 + 0xC3, 3 + 0xA9});
  Vocabulary no_bytes;
  no_bytes.set("tokenizer.ggml.model", "llama").set("tokenizer.ggml.add_space_prefix", false);
  no_bytes.add("<unk>", 2);
  const Token a = no_bytes.add("a");
  CHECK(encode(*make(no_bytes), "a\xC3\xA9") == Ids{a, 0, 0});
}

TEST_CASE(
    "spm: a blank goes before the text and before what follows a special token, where the file "
    "says so") {
  Vocabulary v = small_spm();
  const Token a = v.add("a");
  const Token mark = v.add(kMark);
  const Token mark_a = v.add(kMark + "a");
  auto t = make(v);
  CHECK(encode(*t, "a") == Ids{mark_a});
  CHECK(encode(*t, "a<s>a", true, true) == Ids{1, mark_a, 1, mark_a});
  CHECK(encode(*t, "a</s> ", false, true) == Ids{mark_a, 2, mark, mark});
  CHECK(encode(*t, "") == Ids{});
  CHECK(encode(*t, "", true) == Ids{1});
  v.set("tokenizer.ggml.add_space_prefix", false);
  t = make(v);
  CHECK(encode(*t, "a<s>a", true, true) == Ids{1, a, 1, a});
}

TEST_CASE("spm: extra blanks are removed where the file says so") {
  Vocabulary v = small_spm();
  const Token mark_a = v.add(kMark + "a");
  v.set("tokenizer.ggml.remove_extra_whitespaces", true);
  const auto t = make(v);
  CHECK(encode(*t, "  a   a ") == Ids{mark_a, mark_a});
  CHECK(encode(*t, "   ") == Ids{});
}

TEST_CASE("spm: scores that are not numbers join last") {
  Vocabulary v = small_spm();
  v.set("tokenizer.ggml.add_space_prefix", false);
  const Token a = v.add("a");
  v.add("ab", 1, std::numeric_limits<double>::quiet_NaN());
  const Token bc = v.add("bc", 1, -std::numeric_limits<double>::infinity());
  CHECK(encode(*make(v), "abc") == Ids{a, bc});
}

TEST_CASE("spm: a control token's text is never made from plain text") {
  Vocabulary v = small_spm();
  v.set("tokenizer.ggml.add_space_prefix", false);
  const Token less = v.add("<");
  const Token less_s = v.add("<s", 1, 5);
  const Token more = v.add(">");
  (void)less;
  const auto t = make(v);
  CHECK(encode(*t, "<s>") == Ids{less_s, more});
  CHECK(encode(*t, "<s>", false, true) == Ids{1});
}
