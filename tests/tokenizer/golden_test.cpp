// Real vocabularies and the tiny models' tokenizers against the ids of llama.cpp and Hugging Face.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/test_data.h"
#include "tests/tokenizer/vocabulary.h"
#include "tokenizer/unicode.h"

using namespace llmrt;
using namespace llmrt::test;
using nlohmann::json;

namespace {

std::string from_hex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

json read_json(const std::string& path) {
  json j = json::parse(read_text(path), nullptr, false);
  REQUIRE_MESSAGE(!j.is_discarded(), path);
  return j;
}

// Some vocabularies are packed; the fixture unpack_vocabularies.sh puts all of them here.
std::string vocabulary_path(const std::string& name) {
  return std::string(LLMRT_VOCABULARY_DIR) + "/ggml-vocab-" + name + ".gguf";
}

const char* const kVocabularies[] = {"deepseek-llm", "falcon",    "gemma-4", "gpt-2",
                                     "llama-bpe",    "llama-spm", "phi-3",   "qwen2"};

void check_case(const Tokenizer& t, const json& c) {
  const std::string text = from_hex(c["hex"]);
  if (!c.contains("text")) {  // not UTF-8
    const auto ids = t.encode(text, false, false);
    CHECK_FALSE(ids.ok());
    CHECK(ids.status().code() == Code::invalid_argument);
    CHECK(ids.status().message().find("offset " + std::to_string(utf8_error_offset(text))) !=
          std::string_view::npos);
    return;
  }
  const auto want = [&](const char* key, const json& other) {
    return c.contains(key) ? c[key] : other;
  };
  const json plain = c["ids"];
  const json parsed = want("ids_parse_special", plain);
  INFO("text: ", text);
  CHECK(encode(t, text, false, false) == plain.get<Ids>());
  CHECK(encode(t, text, true, false) == want("ids_add_special", plain).get<Ids>());
  CHECK(encode(t, text, false, true) == parsed.get<Ids>());
  // The generator leaves the fourth out where it equals both the first and the third.
  CHECK(encode(t, text, true, true) == want("ids_add_parse_special", plain).get<Ids>());
}

std::vector<std::string> split_on(const std::string& text, const std::string& mark) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (size_t next; (next = text.find(mark, at)) != std::string::npos; at = next + mark.size())
    parts.push_back(text.substr(at, next - at));
  parts.push_back(text.substr(at));
  return parts;
}

// tokenizer_cases of a tiny model against its GGUF.
void check_model(const std::string& gguf, const json& expected) {
  const auto t = open_tokenizer(gguf);
  const bool nfc = expected["model"].get<std::string>().starts_with(
      "qwen");  // Hugging Face composes first, GGUF vocabularies do not
  size_t n = 0;
  for (const json& c : expected["tokenizer_cases"]) {
    const std::string text = c["text"];
    if (nfc && (text.find("\xCC") != std::string::npos || text.find("\xCD") != std::string::npos))
      continue;
    INFO(gguf, " text: ", text);
    const Ids ids = encode(*t, text, false, true);
    CHECK(ids == c["ids"].get<Ids>());
    CHECK(encode(*t, text, true, true) == c["ids_with_special"].get<Ids>());
    CHECK(t->decode(ids, true) == c["decoded"].get<std::string>());
    ++n;
  }
  CHECK(n > 10);
}

}  // namespace

TEST_CASE("tokenizer goldens: every case of every real vocabulary gives llama.cpp's ids") {
  LLMRT_NEEDS_TEST_DATA();
  for (const char* name : kVocabularies) {
    INFO(name);
    const auto t = open_tokenizer(vocabulary_path(name));
    const json cases =
        read_json(shared_data() + "/golden/tokenizers/" + name + ".cases.json")["cases"];
    CHECK(cases.size() == 64);
    for (const json& c : cases) check_case(*t, c);
  }
}

TEST_CASE(
    "tokenizer goldens: the inp files of every real vocabulary give the ids of the out files") {
  LLMRT_NEEDS_TEST_DATA();
  for (const char* name : kVocabularies) {
    const std::string base = shared_data() + "/golden/tokenizers/ggml-vocab-" + name + ".gguf";
    if (!std::filesystem::exists(base + ".out")) continue;
    INFO(name);
    const auto t = open_tokenizer(vocabulary_path(name));
    const auto texts = split_on(read_text(base + ".inp"), "\n__ggml_vocab_test__\n");
    std::istringstream lines(read_text(base + ".out"));
    for (const std::string& text : texts) {
      std::string line;
      if (!std::getline(lines, line)) break;
      std::istringstream numbers(line);
      Ids want;
      for (Token id; numbers >> id;) want.push_back(id);
      INFO("text: ", text);
      CHECK(encode(*t, text) == want);
    }
  }
}

TEST_CASE("tokenizer goldens: every tiny model's file gives Hugging Face's ids and text") {
  LLMRT_NEEDS_TEST_DATA();
  const std::string models = shared_data() + "/golden/models";
  for (const auto& entry : std::filesystem::directory_iterator(models)) {
    const std::string name = entry.path().filename();
    const std::string gguf = entry.path().string() + "/" + name + ".f16.gguf";
    if (std::filesystem::exists(gguf))
      check_model(gguf, read_json(entry.path().string() + "/expected/expected.json"));
  }
  check_model(shared_data() + "/golden/gguf_quant/llama_gqa.Q8_0.gguf",
              read_json(models + "/llama_gqa/expected/expected.json"));
}

TEST_CASE("tokenizer goldens: every text comes back from its ids") {
  LLMRT_NEEDS_TEST_DATA();
  for (const char* name : kVocabularies) {
    INFO(name);
    const auto t = open_tokenizer(vocabulary_path(name));
    const json cases =
        read_json(shared_data() + "/golden/tokenizers/" + name + ".cases.json")["cases"];
    for (const json& c : cases) {
      if (!c.contains("text")) continue;
      const std::string text = c["text"];
      if (text.find(kBlankMark) != std::string::npos)
        continue;  // a mark that is no blank is lost in vocabularies with marks
      INFO("text: ", text);
      CHECK(t->decode(encode(*t, text), false) == text);
    }
  }
}

TEST_CASE("tokenizer: the models in the repository give Hugging Face's ids and text") {
  size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(repo_data("models"))) {
    const std::string name = entry.path().filename();
    const std::string gguf = entry.path().string() + "/" + name + ".f16.gguf";
    const std::string expected = entry.path().string() + "/expected.json";
    if (!std::filesystem::exists(gguf) || !std::filesystem::exists(expected)) continue;
    check_model(gguf, read_json(expected));
    ++n;
  }
  CHECK(n > 0);
}
