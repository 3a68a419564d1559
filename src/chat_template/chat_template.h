// ChatTemplate: the Jinja subset that real chat templates use, run with HF's settings (trim_blocks,
// lstrip_blocks, Python's json.dumps). Bounded in steps, depth and output; errors are template_error with line and column.
//
// Origin spans: every byte of the output knows whether it came from the template (trusted) or from messages, tools or kwargs
// (input), so special-token text inside a user's message never becomes a special token.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace llmrt {

struct TemplateLimits {
  uint64_t max_steps = 5'000'000;
  uint64_t max_output = 8u << 20;  // and 64 x input + 1 MiB, whichever is less
  uint32_t max_depth = 64;
};

struct RenderedText {
  std::string text;
  std::vector<TextSpan> spans;  // cover the text, in order
};

// What a template can take, found by rendering small conversations when it is parsed. chat/ repairs messages accordingly.
struct TemplateCaps {
  bool text_content = true;      // content as a string
  bool part_content = true;      // content as a list of parts
  bool object_arguments = true;  // tool_calls[i].function.arguments as an object
  bool string_arguments = true;  // ... as JSON text
  bool null_content = false;  // an assistant's tool calls are shown only where its content is null
  bool developer_role = false;  // the template knows the role
};

class ChatTemplate {
 public:
  static Result<std::shared_ptr<const ChatTemplate>> parse(std::string_view source);
  virtual ~ChatTemplate() = default;
  // context_json: one object; its members are the template's globals (messages, tools, add_generation_prompt, bos_token, ...).
  // A member "strftime_now" (string) fixes the clock: an ISO time ("2024-07-26", "2024-07-26T13:05:09") is formatted as the
  // template asks, any other string is the answer itself. Members named in `trusted` (e.g. bos_token) are template origin.
  virtual Result<RenderedText> render(std::string_view context_json,
                                      std::span<const std::string_view> trusted,
                                      const TemplateLimits& limits = {}) const = 0;
  virtual const std::string& source() const = 0;
  virtual const TemplateCaps& caps() const = 0;
};

// "chatml", "llama3", "mistral", "gemma", "phi3": built in, never chosen silently. nullptr: unknown.
const char* builtin_chat_template(std::string_view name);
std::string builtin_chat_template_names();  // for messages: "chatml, llama3, ..."

}  // namespace llmrt
