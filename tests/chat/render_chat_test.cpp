#include "chat_render.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {
const char* const kHi = R"([{"role": "user", "content": "hi"}])";
}

TEST_CASE("render_chat: the context holds what transformers passes") {
  CHECK(chat_text("{{ messages|length }}{{ tools is none }}{{ documents is none }}{{ "
                  "add_generation_prompt }}"
                  "[{{ bos_token }}{{ eos_token }}]{{ pad_token is defined }}",
                  {kHi}) == "1TrueTrueTrue[]False");
  CHECK(chat_text("{{ add_generation_prompt }}", {kHi, "", "", false}) == "False");
}

TEST_CASE("render_chat: absent and empty tools are none") {
  for (const char* none : {"", " ", "null", "[]", " [ ] "})
    CHECK(chat_text("{{ tools }}", {kHi, none}) == "None");
  CHECK(chat_text("{{ tools[0].function.name }}", {kHi, R"([{"function": {"name": "f"}}])"}) ==
        "f");
}

TEST_CASE("render_chat: kwargs are variables of the template and come last") {
  CHECK(
      chat_text(
          "{{ enable_thinking }}{{ bos_token }}{{ add_generation_prompt }}",
          {kHi, "",
           R"( { "enable_thinking": false, "bos_token": "<b>", "add_generation_prompt": 7 } )"}) ==
      "False<b>7");
  CHECK(chat_text("{{ strftime_now('%d %b %Y') }}",
                  {kHi, "", R"({"strftime_now": "2024-07-26"})"}) == "26 Jul 2024");
  CHECK(chat_text("{{ x is defined }}", {kHi, "", "{}"}) == "False");
}

TEST_CASE(
    "render_chat: text of messages, tools and kwargs is input, text of the template is trusted") {
  auto rendered = render_with("<{{ messages[0].content }}|{{ tools[0].n }}|{{ k }}>",
                              {kHi, R"([{"n": "t"}])", R"({"k": "kw"})"});
  REQUIRE(rendered.ok());
  std::string picture;
  for (const TextSpan& span : rendered.value().spans)
    picture.append(span.end - span.begin, span.trusted ? 't' : '_');
  CHECK(rendered.value().text == "<hi|t|kw>");
  CHECK(picture == "t__t_t__t");
}

TEST_CASE("render_chat: malformed arguments are refused with their place") {
  CHECK(refusal({""}) == "messages: not JSON at byte 0: the text ends too early");
  CHECK(refusal({"[{]"}).find("messages: not JSON at byte 2") == 0);
  CHECK(refusal({"{}"}) == "messages is an object, it must be an array of messages");
  CHECK(refusal({"[1]"}).find("messages[0] is a number") == 0);
  CHECK(refusal({R"([{"role": "user", "content": "x"}, "y"])"}).find("messages[1] is a string") ==
        0);
  CHECK(refusal({R"([{"content": "x"}])"}) == "messages[0] has no 'role'");
  CHECK(refusal({R"([{"role": 1, "content": "x"}])"}) ==
        "messages[0].role is a number, it must be a string");
  CHECK(refusal({R"([{"role": "user", "content": 5}])"}) ==
        "messages[0].content is a number, it must be a string, an array of parts or null");
  CHECK(refusal({R"([{"role": "user", "content": "x"}] x)"}).find("messages: not JSON at byte") ==
        0);
  CHECK(refusal({R"([{"role": "assistant", "tool_calls": {}}])"}) ==
        "messages[0].tool_calls is an object, it must be an array");
  CHECK(refusal({kHi, "{}"}) == "tools must be an array of tools");
  CHECK(refusal({kHi, "[1]"}) == "tools[0] must be an object");
  CHECK(refusal({kHi, "[{}"}).find("tools: not JSON at byte 3") == 0);
  CHECK(refusal({kHi, "", "[]"}) == "kwargs must be an object");
  CHECK(refusal({kHi, "", "{\"a\": }"}).find("kwargs: not JSON at byte") == 0);
  CHECK(refusal({kHi, "", R"({"messages": []})"}).find("kwargs sets 'messages'") == 0);
  CHECK(refusal({"[" + std::string(100, '[')}).find("messages[0] is an array") == 0);
  CHECK(refusal({R"([{"role": "user", "content": "x", "y": )" + std::string(100, '[')})
            .find("deeper than 64 levels") != std::string::npos);
}

TEST_CASE("render_chat: an error of the template keeps its code and place") {
  auto rendered = render_with("\n{{ raise_exception('no system role') }}", {kHi});
  REQUIRE_FALSE(rendered.ok());
  CHECK(rendered.status().code() == Code::template_error);
  CHECK(rendered.status().message() == "no system role");
  CHECK(rendered.status().detail()->line == 2);
}
