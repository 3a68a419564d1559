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
  std::string_view tools_json;     // array, or empty
  // object, or empty; may set bos_token, eos_token, strftime_now and template switches
  std::string_view kwargs_json;
  bool add_generation_prompt = true;
};

// tokenizer may be nullptr (template only): bos_token and eos_token are then empty unless kwargs set them.
Result<RenderedText> render_chat(const ChatTemplate& chat_template, const Tokenizer* tokenizer,
                                 const ChatInput& input);

// Renders and encodes with origin spans; never a second automatic BOS (added only if the file asks for one and the text has none).
Result<std::vector<Token>> encode_chat(const ChatTemplate& chat_template,
                                       const Tokenizer& tokenizer, const ChatInput& input);

}  // namespace llmrt
