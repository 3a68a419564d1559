#include "chat/messages.h"

#include <algorithm>

#include "chat/message_repair.h"
#include "chat_template/template_json.h"

namespace llmrt {

namespace {

using jinja::JsonReader;
using JsonToken = JsonReader::Token;

// What the templates of Hugging Face see of a tokenizer.
struct SpecialText {
  const char* name;
  Token SpecialTokens::*id;
  bool always;  // defined (and empty) where the file has no such token
};
constexpr SpecialText kSpecialTexts[] = {
    {"bos_token", &SpecialTokens::bos, true},
    {"eos_token", &SpecialTokens::eos, true},
    {"pad_token", &SpecialTokens::pad, false},
    {"unk_token", &SpecialTokens::unk, false},
};

// What lies at the top of an argument.
struct Outline {
  JsonToken type = JsonToken::null_value;
  size_t n_items = 0;              // items or members
  size_t first_other = SIZE_MAX;   // the first of them that is no object
  std::vector<std::string> names;  // of the members
};

Result<Outline> read_outline(std::string_view json) {
  Outline top;
  JsonReader reader(json);
  LLMRT_ASSIGN(top.type, reader.next());
  if (top.type == JsonToken::begin_array || top.type == JsonToken::begin_object) {
    for (;; ++top.n_items) {
      LLMRT_ASSIGN(JsonToken token, reader.next());
      if (token == JsonToken::end_array || token == JsonToken::end_object) break;
      if (token == JsonToken::key) {
        top.names.push_back(reader.text());
        LLMRT_ASSIGN(token, reader.next());
      }
      if (token != JsonToken::begin_object)
        top.first_other = std::min(top.first_other, top.n_items);
      LLMRT_TRY(reader.skip(token));
    }
  }
  LLMRT_TRY(reader.next().status());
  return top;
}

Result<Outline> outline_of(const char* name, std::string_view json) {
  Result<Outline> top = read_outline(json);
  if (top.ok()) return top;
  return error(Code::invalid_argument, "%s: %s", name, std::string(top.status().message()).c_str())
      .at(name);
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// The value of `tools`.
Result<std::string_view> tools_text(std::string_view tools) {
  constexpr const char* kName = "tools_json";
  if (is_blank(tools)) return std::string_view("null");
  LLMRT_ASSIGN(const Outline top, outline_of(kName, tools));
  if (top.type != JsonToken::begin_array && top.type != JsonToken::null_value)
    return error(Code::invalid_argument, "%s must be an array of objects", kName).at(kName);
  if (top.first_other < top.n_items)
    return error(Code::invalid_argument, "%s[%zu] must be an object", kName, top.first_other)
        .at(kName);
  return top.n_items == 0 ? std::string_view("null") : tools;
}

// The names that kwargs sets.
Result<std::vector<std::string>> kwargs_names(const char* name, std::string_view kwargs) {
  if (is_blank(kwargs)) return std::vector<std::string>();
  LLMRT_ASSIGN(Outline top, outline_of(name, kwargs));
  if (top.type != JsonToken::begin_object)
    return error(Code::invalid_argument, "%s must be an object", name).at(name);
  for (const std::string& member : top.names)
    if (member == "messages" || member == "tools")
      return error(Code::invalid_argument, "%s sets '%s', which is an argument of its own", name,
                   member.c_str())
          .at(name);
  return std::move(top.names);
}

}  // namespace

Status check_json(const char* name, std::string_view json) {
  return outline_of(name, json).status();
}

Status check_chat_options(std::string_view tools_json, std::string_view kwargs_json,
                          const char* kwargs_name) {
  LLMRT_TRY(tools_text(tools_json).status());
  return kwargs_names(kwargs_name, kwargs_json).status();
}

Result<RenderedText> render_chat(const ChatTemplate& chat_template, const Tokenizer* tokenizer,
                                 const ChatInput& input) {
  LLMRT_ASSIGN(const std::string_view tools, tools_text(input.tools_json));
  LLMRT_ASSIGN(const std::vector<std::string> set_by_caller,
               kwargs_names(input.kwargs_name, input.kwargs_json));
  const char* const name = input.messages_name;
  Result<std::string> messages = repair_messages(name, input.messages_json, chat_template.caps());
  if (!messages.ok()) return std::move(messages).status().at(name);
  if (input.needs_message && *messages == "[]")
    return error(Code::invalid_argument, "%s has no message to answer; add one first", name)
        .at(name);

  std::string context = R"({"messages":)";
  context.append(*messages)
      .append(R"(,"tools":)")
      .append(tools)
      .append(R"(,"documents":null,"add_generation_prompt":)");
  context.append(input.add_generation_prompt ? "true" : "false");
  std::vector<std::string_view> trusted;
  for (const SpecialText& special : kSpecialTexts) {
    if (std::find(set_by_caller.begin(), set_by_caller.end(), special.name) != set_by_caller.end())
      continue;
    const Token id = tokenizer ? tokenizer->special().*special.id : -1;
    if (id < 0 && !special.always) continue;
    context.append(",\"").append(special.name).append("\":");
    append_json_string(context, id >= 0 ? tokenizer->token_bytes(id) : std::string_view());
    trusted.push_back(special.name);
  }
  if (!set_by_caller.empty()) {  // the members of kwargs come last: they count
    const size_t open = input.kwargs_json.find('{');
    context.append(",").append(input.kwargs_json.substr(open + 1));
  } else {
    context += '}';
  }
  return chat_template.render(context, trusted);
}

Result<std::vector<Token>> encode_chat(const ChatTemplate& chat_template,
                                       const Tokenizer& tokenizer, const ChatInput& input) {
  LLMRT_ASSIGN(const RenderedText rendered, render_chat(chat_template, &tokenizer, input));
  LLMRT_ASSIGN(std::vector<Token> ids,
               tokenizer.encode_spans(rendered.text, rendered.spans, false));
  const SpecialTokens& special = tokenizer.special();
  if (special.add_bos && special.bos >= 0 && (ids.empty() || ids[0] != special.bos))
    ids.insert(ids.begin(), special.bos);
  return ids;
}

}  // namespace llmrt
