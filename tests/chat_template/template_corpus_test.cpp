#include "template_render.h"
#include "tests/support/test_data.h"

using namespace llmrt;
using namespace llmrt::test;
using Json = nlohmann::ordered_json;

namespace {

// The corpus' context as text: a JSON library would round its integer beyond 64 bits.
std::string context_text(const std::string& file) {
  const size_t begin = file.find("\"context\": ") + 11;
  int depth = 0;
  bool in_string = false;
  for (size_t i = begin; i < file.size(); ++i) {
    const char c = file[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      ++depth;
    } else if (!in_string && (c == '}' || c == ']') && --depth == 0) {
      return file.substr(begin, i + 1 - begin);
    }
  }
  return "";
}

}  // namespace

TEST_CASE("chat_template: the corpus renders as jinja2 renders it or fails where jinja2 fails") {
  const std::string file = read_text(repo_data("chat_template/cases.json"));
  const Json corpus = Json::parse(file, nullptr, false);
  REQUIRE(corpus.is_object());
  std::string context = context_text(file);
  context.back() = ',';
  context += "\"strftime_now\": " + corpus["now"].dump() + "}";
  REQUIRE(corpus["cases"].size() > 700);
  for (const Json& expected : corpus["cases"]) {
    const std::string source = expected["t"].get<std::string>();
    INFO(source);
    auto rendered = render(source, context);
    INFO(std::string(rendered.status().message()));
    if (expected.contains("o")) {
      REQUIRE(rendered.ok());
      CHECK(rendered.value().text == expected["o"].get<std::string>());
      origins(rendered.value());
      continue;
    }
    REQUIRE_FALSE(rendered.ok());
    CHECK(rendered.status().code() == Code::template_error);
    REQUIRE(rendered.status().detail() != nullptr);
    CHECK(rendered.status().detail()->line >= 1);
    CHECK(rendered.status().detail()->column >= 1);
    if (expected.contains("m"))
      CHECK(rendered.status().message() == expected["m"].get<std::string>());
  }
}
