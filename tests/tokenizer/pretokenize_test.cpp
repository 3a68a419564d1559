#include "tokenizer/pretokenize.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

using namespace llmrt;

namespace {

using Pieces = std::vector<std::string>;

Pretokenizer open(const char* name) {
  const PretokenizerSpec* spec = find_pretokenizer(name);
  REQUIRE_MESSAGE(spec, name);
  auto made = Pretokenizer::make(*spec);
  INFO(name, ": ", std::string(made.status().message()));
  REQUIRE(made.ok());
  return std::move(made).value();
}

Pieces pieces(const Pretokenizer& p, const std::string& text) {
  Pretokenizer::Workspace workspace;
  std::vector<uint32_t> ends;
  const Status status = p.split(text, workspace, ends);
  INFO(std::string(status.message()));
  REQUIRE(status.ok());
  Pieces out;
  bool in_order = true;
  uint32_t begin = 0;
  for (const uint32_t end : ends) {
    in_order = in_order && end > begin;
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  CHECK(in_order);
  CHECK(begin == text.size());
  return out;
}

const char* const kNames[] = {"llama3",
                              "llama-v3",
                              "llama-bpe",
                              "falcon3",
                              "falcon-h1",
                              "pixtral",
                              "midm-2.0",
                              "lfm2",
                              "jina-v5-nano",
                              "dbrx",
                              "smaug-bpe",
                              "chatglm-bpe",
                              "glm4",
                              "glm5",
                              "jais-2",
                              "minicpm5",
                              "gpt-2",
                              "phi-2",
                              "jina-es",
                              "jina-de",
                              "jina-v1-en",
                              "jina-v2-es",
                              "jina-v2-de",
                              "jina-v2-code",
                              "roberta-bpe",
                              "gigachat",
                              "a.x-4.0",
                              "mellum",
                              "modern-bert",
                              "exaone4",
                              "mpt",
                              "olmo",
                              "jais",
                              "trillion",
                              "granite-docling",
                              "smollm",
                              "starcoder",
                              "refact",
                              "command-r",
                              "codeshell",
                              "exaone",
                              "minerva-7b",
                              "mellum2",
                              "qwen2",
                              "deepseek-r1-qwen",
                              "stablelm2",
                              "hunyuan",
                              "megrez",
                              "kormo",
                              "f2llmv2",
                              "solar-open",
                              "grok-2",
                              "qwen35",
                              "laguna",
                              "ufakzeka",
                              "gpt-4o",
                              "llama4",
                              "kanana2",
                              "talkie",
                              "minimax-m2",
                              "granite-embed-multi-97m",
                              "tekken",
                              "tiny_aya",
                              "cohere2moe",
                              "seed-coder",
                              "bailingmoe",
                              "bailingmoe2",
                              "llada-moe",
                              "exaone-moe",
                              "poro-chat",
                              "bloom",
                              "gpt3-finnish",
                              "viking",
                              "deepseek-llm",
                              "deepseek-coder",
                              "deepseek-v3",
                              "hunyuan-dense",
                              "joyai-llm",
                              "hy_v4",
                              "youtu",
                              "falcon",
                              "default",
                              "gemma4",
                              "granite-embed-multi-311m",
                              "sarvam-moe"};

}  // namespace

TEST_CASE("pretokenize: every known name compiles and its pieces tile any text") {
  std::string text =
      "It's THEY'LL 1234567 \xC3\xA9t\xC3\xA9\n\n  x\t\r\n "
      "\xE4\xBD\xA0\xE5\xA5\xBD\xEF\xBC\x8C\xF0\x9F\xA6\x99 e\xCC\x81 $a+b<=c` ";
  text.push_back('\0');
  for (const char* name : kNames) {
    CHECK(pieces(open(name), text).size() > 1);
    CHECK(pieces(open(name), "").empty());
  }
  CHECK(find_pretokenizer("llama") == nullptr);
  CHECK(find_pretokenizer("") == nullptr);
}

TEST_CASE("pretokenize: the families cut digits, contractions and blanks in their own way") {
  const std::string text = "I've 12345 THEY'LL  go!\n\n x";
  CHECK(pieces(open("llama-bpe"), text) ==
        Pieces{"I", "'ve", " ", "123", "45", " THEY", "'LL", " ", " go", "!\n\n", " x"});
  CHECK(pieces(open("qwen2"), text) == Pieces{"I", "'ve", " ", "1", "2", "3", "4", "5", " THEY",
                                              "'LL", " ", " go", "!\n\n", " x"});
  CHECK(pieces(open("gpt-2"), text) ==
        Pieces{"I", "'ve", " 12345", " THEY", "'", "LL", " ", " go", "!", "\n\n", " x"});
  CHECK(pieces(open("smollm"), text) == Pieces{"I", "'ve", " ", "1", "2", "3", "4", "5", " THEY",
                                               "'", "LL", " ", " go", "!", "\n\n", " x"});
  CHECK(pieces(open("falcon"), "a=12345") == Pieces{"a", "=", "123", "45"});
  CHECK(pieces(open("deepseek-llm"), "a 12\nb") == Pieces{"a", " ", "12", "\n", "b"});
  CHECK(pieces(open("gpt-4o"), "camelCase ABCdef I'VE") ==
        Pieces{"camel", "Case", " ABCdef", " I'VE"});
  CHECK(pieces(open("tiny_aya"), "1234567") == Pieces{"1", "234", "567"});
  CHECK(pieces(open("tiny_aya"), "1234a 12 \xD9\xA1\xD9\xA2\xD9\xA3\xD9\xA4") ==
        Pieces{"123", "4", "a", " ", "12", " ", "\xD9\xA1", "\xD9\xA2\xD9\xA3\xD9\xA4"});
  CHECK(pieces(open("gemma4"), "a b\n\nc") == Pieces{"a b", "\n\n", "c"});
}

TEST_CASE(
    "pretokenize: letters, marks, numbers and white space are those of the Unicode database") {
  const Pretokenizer qwen2 = open("qwen2");
  // Arabic digits, a Roman numeral and a fraction are numbers: one piece each.
  CHECK(pieces(qwen2, "\xD9\xA1\xD9\xA2\xE2\x85\xA7\xC2\xBD") ==
        Pieces{"\xD9\xA1", "\xD9\xA2", "\xE2\x85\xA7", "\xC2\xBD"});
  // Every white space character ends a word and joins the blank run; U+180E and U+200B have left that class.
  for (const char* space :
       {"\xC2\x85", "\xC2\xA0", "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x8A", "\xE2\x80\xA8",
        "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\t", "\v", "\f"}) {
    const std::string s = space;
    CHECK(pieces(qwen2, "a  " + s + "\nb") == Pieces{"a", "  " + s + "\n", "b"});
    CHECK(pieces(qwen2, "a" + s + s + "!") == Pieces{"a", s, s, "!"});
  }
  for (const char* other : {"\xE1\xA0\x8E", "\xE2\x80\x8B"})
    CHECK(pieces(qwen2, std::string("a ") + other + "!") ==
          Pieces{"a", std::string(" ") + other + "!"});
  // A combining mark is no letter for qwen2 and part of the word for qwen35.
  CHECK(pieces(qwen2, "ae\xCC\x81x") == Pieces{"ae", "\xCC\x81x"});
  CHECK(pieces(open("qwen35"), "ae\xCC\x81x") == Pieces{"ae\xCC\x81x"});
}

TEST_CASE("pretokenize: long texts without a cut are split in linear time") {
  // Quadratic work on a megabyte would take minutes. The last text repeats a group, not a character: for some expressions more
  // than the compiled matcher's stack holds, so the interpreter takes over.
  const size_t n = 1u << 20;
  std::string pairs;
  while (pairs.size() < n) pairs += "a ";
  const std::string texts[] = {std::string(n, 'a'),  std::string(n, ' ') + "x",
                               std::string(n, '\n'), std::string(n, '7') + "b",
                               std::string(n, '!'),  pairs};
  const auto begin = std::chrono::steady_clock::now();
  for (const char* name :
       {"llama-bpe", "gpt-2", "qwen2", "gpt-4o", "tiny_aya", "exaone-moe", "deepseek-v3"}) {
    INFO(name);
    const Pretokenizer p = open(name);
    for (const std::string& text : texts) CHECK_FALSE(pieces(p, text).empty());
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}
