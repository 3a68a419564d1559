#include <filesystem>

#include "template_render.h"
#include "tests/support/test_data.h"

using namespace llmrt;
using namespace llmrt::test;
using Json = nlohmann::ordered_json;

TEST_CASE("chat_template: 14 real templates give the text of transformers or its error") {
  LLMRT_NEEDS_TEST_DATA();
  const std::string folder = shared_data() + "/golden/chat_templates/";
  size_t n_cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const Json golden = Json::parse(read_text(entry.path().string()), nullptr, false);
    auto parsed = ChatTemplate::parse(read_text(folder + golden["template"].get<std::string>()));
    INFO(entry.path().filename().string());
    REQUIRE(parsed.ok());
    for (const Json& expected : golden["cases"]) {
      Json context = {{"tools", nullptr}, {"documents", nullptr}};
      context.update(expected["context"]);
      context["strftime_now"] = golden["strftime_now"];
      const std::string_view trusted[] = {"bos_token", "eos_token"};
      auto rendered = parsed.value()->render(context.dump(), trusted);
      INFO(expected["name"].get<std::string>());
      INFO(std::string(rendered.status().message()));
      ++n_cases;
      if (expected.contains("output")) {
        REQUIRE(rendered.ok());
        CHECK(rendered.value().text == expected["output"].get<std::string>());
        origins(rendered.value());
        continue;
      }
      REQUIRE_FALSE(rendered.ok());
      const std::string wanted = expected["error"].get<std::string>();
      const std::string raised = "TemplateError: ";
      if (wanted.rfind(raised, 0) == 0)
        CHECK(rendered.status().message() == wanted.substr(raised.size()));
    }
  }
  CHECK(n_cases == 84);
}
