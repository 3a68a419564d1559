#include "chat/messages.h"

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

Status in_argument(const char* argument, const Status& status) {
  return error(Code::invalid_argument, "%s: %s", argument, std::string(status.message()).c_str());
}

// Reads an argument to its end; *n_items counts the items or members at its top.
Result<JsonToken> check_json(const char* argument, std::string_view json, size_t* n_items,
                             bool items_are_objects, std::vector<std::string>* names) {
  JsonReader reader(json);
  Result<JsonToken> first = reader.next();
  if (!first.ok()) return in_argument(argument, first.status());
  *n_items = 0;
  if (*first == JsonToken::begin_array || *first == JsonToken::begin_object) {
    for (;; ++*n_items) {
      Result<JsonToken> token = reader.next();
      if (!token.ok()) return in_argument(argument, token.status());
      if (*token == JsonToken::end_array || *token == JsonToken::end_object) break;
      if (*token == JsonToken::key) {
        if (names) names->push_back(reader.text());
        token = reader.next();
        if (!token.ok()) return in_argument(argument, token.status());
      }
      if (items_are_objects && *token != JsonToken::begin_object)
        return error(Code::invalid_argument, "%s[%zu] must be an object", argument, *n_items);
      const Status skipped = reader.skip(*token);
      if (!skipped.ok()) return in_argument(argument, skipped);
    }
  }
  Result<JsonToken> end = reader.next();
  if (!end.ok()) return in_argument(argument, end.status());
  return *first;
}

Result<std::string_view> tools_text(std::string_view tools) {
  if (tools.find_first_not_of(" \t\r\n") == tools.npos) return std::string_view("null");
  size_t n = 0;
  LLMRT_ASSIGN(const JsonToken type, check_json("tools", tools, &n, true, nullptr));
  if (type != JsonToken::begin_array && type != JsonToken::null_value)
    return error(Code::invalid_argument, "tools must be an array of tools");
  return type == JsonToken::null_value || n == 0 ? std::string_view("null") : tools;
}

}  // namespace

Result<RenderedText> render_chat(const ChatTemplate& chat_template, const Tokenizer* tokenizer,
                                 const ChatInput& input) {
  LLMRT_ASSIGN(const std::string messages,
               repair_messages(input.messages_json, chat_template.caps()));
  LLMRT_ASSIGN(const std::string_view tools, tools_text(input.tools_json));
  std::vector<std::string> set_by_caller;
  std::string_view kwargs = input.kwargs_json;
  if (kwargs.find_first_not_of(" \t\r\n") == kwargs.npos) kwargs = {};
  if (!kwargs.empty()) {
    size_t n = 0;
    LLMRT_ASSIGN(const JsonToken type, check_json("kwargs", kwargs, &n, false, &set_by_caller));
    if (type != JsonToken::begin_object)
      return error(Code::invalid_argument, "kwargs must be an object");
  }

  std::string context = R"({"messages":)";
  context.append(messages)
      .append(R"(,"tools":)")
      .append(tools)
      .append(R"(,"documents":null,"add_generation_prompt":)");
  context.append(input.add_generation_prompt ? "true" : "false");
  std::vector<std::string_view> trusted;
  for (const SpecialText& special : kSpecialTexts) {
    bool overridden = false;
    for (const std::string& name : set_by_caller) overridden = overridden || name == special.name;
    if (overridden) continue;
    const Token id = tokenizer ? tokenizer->special().*special.id : -1;
    if (id < 0 && !special.always) continue;
    context.append(",\"").append(special.name).append("\":");
    append_json_string(context, id >= 0 ? tokenizer->token_bytes(id) : std::string_view());
    trusted.push_back(special.name);
  }
  if (!set_by_caller.empty()) {  // the members of kwargs come last: they count
    for (const std::string& name : set_by_caller)
      if (name == "messages" || name == "tools")
        return error(Code::invalid_argument, "kwargs sets '%s', which is an argument of its own",
                     name.c_str());
    const size_t open = kwargs.find('{');
    context.append(",").append(kwargs.substr(open + 1));
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
