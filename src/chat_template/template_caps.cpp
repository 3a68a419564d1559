#include "chat_template/template_caps.h"

#include "chat_template/template_source.h"

namespace llmrt {

namespace {

using jinja::phrase;

// Words that no template has, so that finding one in the output means the template showed it.
constexpr std::string_view kSaid = "PROBE-SAID";
constexpr std::string_view kCalled = "probe_called";
constexpr std::string_view kGiven = "PROBE-GIVEN";

// Probes are small: a template that needs more is treated as one that fails them.
constexpr TemplateLimits kProbeLimits{200'000, 1u << 20, 64};

struct Probe {
  bool ok = false;
  std::string text;
  bool shows(std::string_view word) const { return ok && text.find(word) != text.npos; }
};

Probe render(const ChatTemplate& chat_template, const std::string& messages) {
  // Some templates run only with tools, most do not care.
  for (const char* tools :
       {"null", R"([{"type":"function","function":{"name":"f","description":"d",)"
                R"("parameters":{"type":"object","properties":{}}}}])"}) {
    const std::string context =
        phrase(R"({"messages":)", messages, R"(,"tools":)", tools,
               R"(,"documents":null,"add_generation_prompt":false,"bos_token":"","eos_token":"",)",
               R"("strftime_now":"2024-07-26"})");
    Result<RenderedText> rendered = chat_template.render(context, {}, kProbeLimits);
    if (rendered.ok()) return {true, std::move(rendered->text)};
  }
  return {};
}

std::string user_says(const std::string& content) {
  return phrase(R"([{"role":"user","content":)", content, "}]");
}

// Mistral's templates want ids of 9 characters.
std::string assistant_calls(std::string_view content, std::string_view arguments) {
  return phrase(
      R"([{"role":"user","content":"q"},{"role":"assistant","content":)", content,
      R"(,"tool_calls":[{"id":"probe0000","type":"function","function":{"name":"probe_called","arguments":)",
      arguments,
      R"(}}]},{"role":"tool","tool_call_id":"probe0000","name":"probe_called","content":"r"},)",
      R"({"role":"assistant","content":"a"}])");
}

}  // namespace

TemplateCaps probe_caps(const ChatTemplate& chat_template) {
  TemplateCaps caps;
  const std::string said(kSaid);
  caps.text_content = render(chat_template, user_says('"' + said + '"')).shows(kSaid);
  const Probe parts =
      render(chat_template, user_says(phrase(R"([{"type":"text","text":")", said, R"("}])")));
  // A list printed as it is shows Python's or JSON's spelling of the part.
  caps.part_content = parts.shows(kSaid) && !parts.shows("'text'") && !parts.shows("\"text\"");

  const std::string object = phrase(R"({"x":")", kGiven, R"("})");
  const std::string text = phrase(R"("{\"x\":\")", kGiven, R"(\"}")");
  const Probe with_object = render(chat_template, assistant_calls(R"("")", object));
  const Probe with_text = render(chat_template, assistant_calls(R"("")", text));
  const Probe with_null = render(chat_template, assistant_calls("null", object));
  const Probe null_and_text = render(chat_template, assistant_calls("null", text));
  caps.null_content = !with_object.shows(kCalled) && !with_text.shows(kCalled) &&
                      (with_null.shows(kCalled) || null_and_text.shows(kCalled));
  const Probe& taken_object = caps.null_content ? with_null : with_object;
  const Probe& taken_text = caps.null_content ? null_and_text : with_text;
  caps.object_arguments = taken_object.shows(kGiven);
  caps.string_arguments = taken_text.shows(kGiven);

  caps.developer_role = chat_template.source().find("developer") != std::string::npos;
  return caps;
}

}  // namespace llmrt
