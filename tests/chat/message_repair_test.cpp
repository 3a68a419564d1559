#include "chat/message_repair.h"

#include "chat_render.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

std::string repaired(const char* messages, const TemplateCaps& caps = {}) {
  auto text = repair_messages("messages", messages, caps);
  INFO(std::string(text.status().message()));
  REQUIRE(text.ok());
  return text.value();
}

std::string call(const std::string& arguments, const char* content = "null") {
  return std::string(R"([{"role":"assistant","content":)") + content +
         R"(,"tool_calls":[{"id":"1","function":{"name":"f","arguments":)" + arguments + "}}]}]";
}

}  // namespace

TEST_CASE("message_repair: what needs no repair passes byte for byte") {
  const char* messages =
      R"([{"role":"user","content":"a\u00e9","x":[1, 2.50,{"y": 123456789012345678901234567890}]},{"role":"tool","content":"{}","name":"f"}])";
  CHECK(repaired(messages) == messages);
  CHECK(repaired(" [ ] ") == "[]");
}

TEST_CASE("message_repair: null content becomes the empty text") {
  CHECK(repaired(R"([{"role":"assistant","content":null}])") ==
        R"([{"role":"assistant","content":""}])");
  CHECK(repaired(call("{}").c_str()) == call("{}", "\"\""));
  CHECK(repaired(R"([{"role":"assistant","tool_calls":[]}])") ==
        R"([{"role":"assistant","tool_calls":[],"content":""}])");
  TemplateCaps caps;
  caps.null_content = true;
  CHECK(repaired(call("{}").c_str(), caps) == call("{}"));
  CHECK(repaired(R"([{"role":"assistant","content":null}])", caps) ==
        R"([{"role":"assistant","content":""}])");
}

TEST_CASE("message_repair: text parts are joined where the template takes no lists") {
  TemplateCaps caps;
  caps.part_content = false;
  const char* parts =
      R"([{"role":"user","content":[{"type":"text","text":"a\n"},{"type":"text","text":"\"b"}]}])";
  CHECK(repaired(parts, caps) == R"([{"role":"user","content":"a\u000a\u000a\"b"}])");
  CHECK(repaired(R"([{"role":"user","content":[]}])", caps) == R"([{"role":"user","content":""}])");
  CHECK(repaired(parts) == parts);
  caps.text_content = false;  // neither works: the probes say nothing, so nothing is changed
  CHECK(repaired(parts, caps) == parts);
  caps.part_content = true;
  CHECK(repaired(R"([{"role":"user","content":"a\"b"}])", caps) ==
        R"([{"role":"user","content":[{"type":"text","text":"a\"b"}]}])");
}

TEST_CASE("message_repair: parts that are no text are refused by name") {
  TemplateCaps caps;
  caps.part_content = false;
  const auto fails = [&](const char* content) {
    auto text = repair_messages(
        "messages", std::string(R"([{"role":"user","content":)") + content + "}]", caps);
    REQUIRE_FALSE(text.ok());
    return std::string(text.status().message());
  };
  CHECK(fails(R"([{"type":"text","text":"a"},{"type":"image_url"}])") ==
        "messages[0].content[1] is of type 'image_url', this template takes text only");
  std::string long_type = "x";
  while (long_type.size() < 300) long_type += "\xc3\xa9";
  const std::string cut = fails((R"([{"type":")" + long_type + R"("}])").c_str());
  CHECK(cut == "messages[0].content[0] is of type '" + long_type.substr(0, 39) +
                   "', this template takes text only");
  CHECK(fails("[1]") == "messages[0].content[0] is a number, it must be an object");
  CHECK(fails("[{}]") == "messages[0].content[0] has no 'type'");
  CHECK(fails(R"([{"type":"text"}])") == "messages[0].content[0] has no 'text'");
}

TEST_CASE("message_repair: arguments take the form that the template takes") {
  CHECK(repaired(call(R"("{\"a\": 1.50, \"b\": [9007199254740993]}")", "\"\"").c_str()) ==
        call(R"({"a": 1.50, "b": [9007199254740993]})", "\"\""));
  CHECK(repaired(call(R"("")", "\"\"").c_str()) == call("{}", "\"\""));
  CHECK(repaired(call(R"(" ")", "\"\"").c_str()) == call("{}", "\"\""));
  CHECK(repaired(call(R"("null")", "\"\"").c_str()) == call("{}", "\"\""));
  CHECK(repaired(call("null", "\"\"").c_str()) == call("{}", "\"\""));
  TemplateCaps caps;
  caps.object_arguments = false;
  CHECK(repaired(call(R"({"a":[1,"x"]})", "\"\"").c_str(), caps) ==
        call(R"("{\"a\": [1, \"x\"]}")", "\"\""));
  CHECK(repaired(call(R"("{\"a\":1}")", "\"\"").c_str(), caps) == call(R"("{\"a\":1}")", "\"\""));
  caps.string_arguments = false;  // the probes say nothing: an object
  CHECK(repaired(call(R"("{\"a\":1}")", "\"\"").c_str(), caps) == call(R"({"a":1})", "\"\""));
}

TEST_CASE("message_repair: arguments that are no object are refused by name") {
  const auto fails = [](const char* arguments) {
    auto text = repair_messages("messages", call(arguments), {});
    REQUIRE_FALSE(text.ok());
    CHECK(text.status().code() == Code::invalid_argument);
    return std::string(text.status().message());
  };
  CHECK(fails(R"("{\"a\": ")") ==
        "messages[0].tool_calls[0].function.arguments is not JSON at byte 6: the text ends too "
        "early");
  CHECK(fails(R"("{} x")")
            .find("messages[0].tool_calls[0].function.arguments is not JSON at byte 3") == 0);
  CHECK(fails(R"("[1]")") ==
        "messages[0].tool_calls[0].function.arguments holds an array as JSON text, it must be an "
        "object");
  CHECK(fails("5") ==
        "messages[0].tool_calls[0].function.arguments is a number, it must be an object or its "
        "JSON text");
}

TEST_CASE("message_repair: the developer role is system where the template does not know it") {
  CHECK(repaired(R"([{"role":"developer","content":"x"}])") ==
        R"([{"role":"system","content":"x"}])");
  TemplateCaps caps;
  caps.developer_role = true;
  CHECK(repaired(R"([{"role":"developer","content":"x"}])", caps) ==
        R"([{"role":"developer","content":"x"}])");
}

TEST_CASE("message_repair: the probes of a template decide") {
  const Chat parts{
      R"([{"role": "user", "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}])"};
  CHECK(chat_text("{% for m in messages %}{{ '[' + m.content + ']' }}{% endfor %}", parts) ==
        "[A\nB]");
  CHECK(chat_text("{% for m in messages %}{{ m.content }};{% endfor %}", parts) == "A\nB;");
  CHECK(chat_text("{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% "
                  "for p in m.content %}<{{ p.text }}>{% endfor %}{% endif %}{% endfor %}",
                  parts) == "<A><B>");
  CHECK(chat_text(
            "{% for m in messages %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endfor %}",
            {R"([{"role": "user", "content": "A"}])"}) == "<A>");

  const std::string text_call = call(R"("{\"a\":1}")");
  const char* walks =
      "{% for m in messages %}{% for c in m.tool_calls %}{% for k, v in c.function.arguments|items "
      "%}{{ c.function.name }}{{ k }}={{ v }}{% endfor %}{% endfor %}{% endfor %}";
  CHECK(chat_text(walks, {text_call}) == "fa=1");
  const char* dumps =
      "{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.name }}{{ "
      "c.function.arguments|tojson }}{% endfor %}{% endfor %}";
  CHECK(chat_text(dumps, {text_call}) == "f{\"a\": 1}");
  const char* appends =
      "{% for m in messages %}{% for c in m.tool_calls %}{{ c.function.name + c.function.arguments "
      "}}{% endfor %}{% endfor %}";
  CHECK(chat_text(appends, {call(R"({"a":1})")}) == "f{\"a\": 1}");
  const char* null_only =
      "{% for m in messages %}{% if m.content is none %}{% for c in m.tool_calls %}{{ "
      "c.function.name }}{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}";
  CHECK(chat_text(null_only, {text_call}) == "f");
  const char* concatenates = "{% for m in messages %}{{ '<' + m.content + '>' }}{% endfor %}";
  CHECK(chat_text(concatenates, {text_call}) == "<>");
}
