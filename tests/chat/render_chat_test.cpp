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
  CHECK(refusal({""}) == "messages_json: not JSON at byte 0: the text ends too early");
  CHECK(refusal({"[{]"}).find("messages_json: not JSON at byte 2") == 0);
  CHECK(refusal({"{}"}) == "messages_json is an object, it must be an array of messages");
  CHECK(refusal({"[1]"}).find("messages_json[0] is a number") == 0);
  CHECK(refusal({R"([{"role": "user", "content": "x"}, "y"])"})
            .find("messages_json[1] is a string") == 0);
  CHECK(refusal({R"([{"content": "x"}])"}) == "messages_json[0] has no 'role'");
  CHECK(refusal({R"([{"role": 1, "content": "x"}])"}) ==
        "messages_json[0].role is a number, it must be a string");
  CHECK(refusal({R"([{"role": "user", "content": 5}])"}) ==
        "messages_json[0].content is a number, it must be a string, an array of parts or null");
  CHECK(refusal({R"([{"role": "user", "content": "x"}] x)"})
            .find("messages_json: not JSON at byte") == 0);
  CHECK(refusal({R"([{"role": "assistant", "tool_calls": {}}])"}) ==
        "messages_json[0].tool_calls is an object, it must be an array");
  CHECK(refusal({kHi, "{}"}) == "tools_json must be an array of objects");
  CHECK(refusal({kHi, R"({"messages": []})"}) == "tools_json must be an array of objects");
  CHECK(refusal({kHi, "[{}, 1]"}) == "tools_json[1] must be an object");
  CHECK(refusal({kHi, "[1]"}) == "tools_json[0] must be an object");
  CHECK(refusal({kHi, "[{}"}).find("tools_json: not JSON at byte 3") == 0);
  CHECK(refusal({kHi, "", "[]"}) == "template_kwargs must be an object");
  CHECK(refusal({kHi, "", "{\"a\": }"}).find("template_kwargs: not JSON at byte") == 0);
  CHECK(refusal({kHi, "", R"({"messages": []})"}).find("template_kwargs sets 'messages'") == 0);
  CHECK(refusal({"[" + std::string(100, '[')}).find("messages_json[0] is an array") == 0);
  CHECK(refusal({R"([{"role": "user", "content": "x", "y": )" + std::string(100, '[')})
            .find("deeper than 64 levels") != std::string::npos);
}

TEST_CASE("render_chat: errors name an argument as its caller does") {
  auto parsed = ChatTemplate::parse("x");
  REQUIRE(parsed.ok());
  ChatInput input;
  input.messages_json = "[{}]";
  input.messages_name = "history";
  input.kwargs_name = "kwargs_json";
  auto rendered = render_chat(*parsed.value(), nullptr, input);
  CHECK(rendered.status().message() == "history[0] has no 'role'");
  CHECK(rendered.status().detail()->where == "history");
  input.kwargs_json = "1";
  rendered = render_chat(*parsed.value(), nullptr, input);
  CHECK(rendered.status().message() == "kwargs_json must be an object");
  CHECK(rendered.status().detail()->where == "kwargs_json");
}

TEST_CASE("render_chat: no messages at all are refused where an answer is wanted") {
  CHECK(chat_text("{{ messages|length }}", {"[ ]"}) == "0");
  auto parsed = ChatTemplate::parse("x");
  REQUIRE(parsed.ok());
  ChatInput input;
  input.messages_json = "[ ]";
  input.needs_message = true;
  auto rendered = render_chat(*parsed.value(), nullptr, input);
  REQUIRE_FALSE(rendered.ok());
  CHECK(rendered.status().code() == Code::invalid_argument);
  CHECK(rendered.status().message() == "messages_json has no message to answer; add one first");
}

TEST_CASE("check_chat_options: what render_chat would refuse") {
  CHECK(check_chat_options("", "", "template_kwargs").ok());
  CHECK(check_chat_options("[{}]", "{\"a\": 1}", "template_kwargs").ok());
  CHECK(check_chat_options("{}", "", "template_kwargs").message() ==
        "tools_json must be an array of objects");
  CHECK(check_chat_options("", "nonsense", "template_kwargs")
            .message()
            .starts_with("template_kwargs: not JSON at byte 0"));
  CHECK(check_chat_options("", "{\"tools\": 1}", "template_kwargs").code() ==
        Code::invalid_argument);
}

TEST_CASE("render_chat: an error of the template keeps its code and place") {
  auto rendered = render_with("\n{{ raise_exception('no system role') }}", {kHi});
  REQUIRE_FALSE(rendered.ok());
  CHECK(rendered.status().code() == Code::template_error);
  CHECK(rendered.status().message() == "no system role");
  CHECK(rendered.status().detail()->where == "chat template");
  CHECK(rendered.status().detail()->line == 2);
}
