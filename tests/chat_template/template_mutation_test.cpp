// Mutants of templates: any outcome but a crash, a hang or memory without bound.
#include <cstdlib>
#include <random>

#include "template_render.h"
#include "tests/support/test_data.h"

using namespace llmrt;
using namespace llmrt::test;
using Json = nlohmann::ordered_json;

namespace {

const char* const kPieces[] = {"{{",
                               "}}",
                               "{%",
                               "%}",
                               "{#",
                               "#}",
                               "-",
                               "+",
                               "|",
                               "(",
                               ")",
                               "[",
                               "]",
                               "{",
                               "}",
                               "'",
                               "\"",
                               "\\",
                               ",",
                               ".",
                               ":",
                               "~",
                               " if ",
                               " else ",
                               " endif ",
                               " for ",
                               " in ",
                               " endfor ",
                               " set ",
                               " macro ",
                               " endmacro ",
                               " not ",
                               " is ",
                               " and ",
                               " loop ",
                               "loop.last",
                               "|tojson",
                               "|list",
                               "|join",
                               "|map",
                               "|sort",
                               "|first",
                               "|format",
                               "|batch(3)",
                               "|slice(2)",
                               "%s",
                               "{:>9}",
                               "99999999999",
                               "-1",
                               "::-1",
                               "range(",
                               "namespace(",
                               "*x",
                               "**x",
                               "\n",
                               "\r\n",
                               "\xC3\xA9",
                               "\xF0\x9F\xA6\x99",
                               "\xFF",
                               ".items()",
                               ".split(",
                               ".append(",
                               ".pop(",
                               "x=",
                               " break ",
                               " continue ",
                               "raise_exception(",
                               "strftime_now(",
                               "none",
                               "true"};

std::string mutated(std::string text, std::minstd_rand& random, const std::string& other) {
  const auto below = [&](size_t n) { return n ? random() % n : 0; };
  for (size_t n = 1 + below(4); n > 0; --n) {
    const size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        text.insert(at, kPieces[below(std::size(kPieces))]);
        break;
      case 1:
        text.erase(at, 1 + below(20));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(60)));
        break;
      case 4:
        text.insert(at, other.substr(below(other.size() + 1), below(60)));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("chat_template: 10000 mutated templates end in text or in one sentence") {
  const Json corpus = Json::parse(read_text(repo_data("chat_template/cases.json")), nullptr, false);
  std::vector<std::string> seeds;
  for (const Json& c : corpus["cases"]) seeds.push_back(c["t"].get<std::string>());
  for (const char* name : {"chatml", "llama3", "mistral", "gemma", "phi3"}) {
    for (int i = 0; i < 40; ++i) seeds.push_back(builtin_chat_template(name));
  }
  const std::string context = corpus["context"].dump();
  TemplateLimits limits;
  limits.max_steps = 20'000;
  limits.max_output = 64 << 10;
  std::minstd_rand random(7);
  // LLMRT_TEST_MUTANTS: more of them, for longer runs.
  const char* wanted = std::getenv("LLMRT_TEST_MUTANTS");
  const int n = wanted ? std::atoi(wanted) : 10'000;
  int n_parsed = 0;
  int n_rendered = 0;
  for (int i = 0; i < n; ++i) {
    const std::string source =
        mutated(seeds[random() % seeds.size()], random, seeds[random() % seeds.size()]);
    auto parsed = ChatTemplate::parse(source);
    if (!parsed.ok()) {
      CHECK(parsed.status().message().size() < 400);
      continue;
    }
    ++n_parsed;
    auto rendered = parsed.value()->render(context, {}, limits);
    if (rendered.ok()) {
      ++n_rendered;
      origins(rendered.value());
    } else {
      INFO(source);
      CHECK(rendered.status().code() == Code::template_error);
    }
  }
  CHECK(n_parsed > n / 20);
  CHECK(n_rendered > n / 40);
}

TEST_CASE("chat_template: mutated contexts end in text or in one sentence") {
  auto parsed = ChatTemplate::parse(builtin_chat_template("chatml"));
  REQUIRE(parsed.ok());
  const std::string seed =
      R"({"messages": [{"role": "user", "content": "a\u00e9\ud83e\udd99 \"x\" \\"}, {"role": "x", "content": [1, -2.5e3, null, true, {}]}], "q": [[[]]]})";
  std::minstd_rand random(11);
  for (int i = 0; i < 5000; ++i) {
    const std::string context = mutated(seed, random, seed);
    auto rendered = parsed.value()->render(context, {});
    if (rendered.ok()) origins(rendered.value());
  }
}
