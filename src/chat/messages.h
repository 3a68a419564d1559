// Chat: OpenAI-style messages to prompt text and ids through a model's template. Lossless repairs only (null content, list content
// of text parts, tool-call arguments in the form the template can take, developer role); nothing is guessed.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "chat_template/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace llmrt {

struct ChatInput {
  std::string_view messages_json;  // array of {role, content, ...}
  std::string_view tools_json;     // array of objects, or empty
  // object, or empty; may set bos_token, eos_token, strftime_now and template switches
  std::string_view kwargs_json;
  bool add_generation_prompt = true;
  bool needs_message = false;  // no messages at all are refused
  // What the caller calls these two; errors name them so.
  const char* messages_name = "messages_json";
  const char* kwargs_name = "template_kwargs";
};

// One JSON value to the text's end, at most 64 levels deep; else "name: not JSON at byte N: ...".
Status check_json(const char* name, std::string_view json);
// What render_chat would say of these two.
Status check_chat_options(std::string_view tools_json, std::string_view kwargs_json,
                          const char* kwargs_name);

// tokenizer may be nullptr (template only): bos_token and eos_token are then empty unless kwargs set them.
Result<RenderedText> render_chat(const ChatTemplate& chat_template, const Tokenizer* tokenizer,
                                 const ChatInput& input);

// Renders and encodes with origin spans; never a second automatic BOS (added only if the file asks for one and the text has none).
Result<std::vector<Token>> encode_chat(const ChatTemplate& chat_template,
                                       const Tokenizer& tokenizer, const ChatInput& input);

}  // namespace llmrt
