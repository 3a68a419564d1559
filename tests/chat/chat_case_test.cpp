// The cases of kinds render and template-security that need no model, by way of render_chat as the tool does it.
#include <chrono>
#include <nlohmann/json.hpp>

#include "chat_render.h"
#include "tests/support/test_data.h"

using namespace llmrt;
using namespace llmrt::test;
using Json = nlohmann::ordered_json;

namespace {

std::string argument(const Json& command, const std::string& option) {
  for (size_t i = 0; i + 1 < command.size(); ++i)
    if (command[i] == option) {
      std::string path = command[i + 1].get<std::string>();
      if (path.rfind("IN/", 0) == 0) path = shared_data() + "/cases/inputs/" + path.substr(3);
      return read_text(path);
    }
  return "";
}

}  // namespace

TEST_CASE("render_chat: every case from the field that needs no model") {
  LLMRT_NEEDS_TEST_DATA();
  const Json file = Json::parse(read_text(shared_data() + "/cases/cases.json"), nullptr, false);
  const Json& cases = file.is_array() ? file : file["cases"];
  size_t n_steps = 0;
  for (const Json& one : cases) {
    if (one["kind"] != "render" && one["kind"] != "template-security") continue;
    for (const Json& step : one["steps"]) {
      const Json& command = step["cmd"];
      if (command[0] != "render" || command[1] != "--template") continue;
      ++n_steps;
      const std::string name = one["id"].get<std::string>() + " " + step["name"].get<std::string>();
      INFO(name);
      const auto begin = std::chrono::steady_clock::now();
      auto rendered = render_with(argument(command, "--template"),
                                  {argument(command, "--messages"), argument(command, "--tools"),
                                   argument(command, "--kwargs")});
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      const Json& expected = step["expect"];
      CHECK(seconds < expected.value("max_s", 10.0) * 5);  // five times: sanitizer builds
      const std::string message(rendered.status().message());
      INFO(message);
      if (expected["exit"] == 0) {
        REQUIRE(rendered.ok());
        CHECK(rendered.value().text == expected["text"].get<std::string>());
        continue;
      }
      REQUIRE_FALSE(rendered.ok());
      CHECK_FALSE(message.empty());
      // The expressions of the cases all say: the fault of the second line is named there.
      if (expected.contains("stderr_re")) CHECK(message.find("line 2,") != std::string::npos);
    }
  }
  CHECK(n_steps >= 40);
}
