// Values as text, the way Python writes them: str(), repr() and json.dumps().
#pragma once

#include <string>

#include "base/status.h"
#include "chat_template/template_builder.h"
#include "chat_template/template_value.h"

namespace llmrt::jinja {

inline constexpr uint32_t kMaxWriteDepth = 100;

// float.__repr__: the shortest digits that read back the same, "1e+16" from 16 digits on, "100.0", "inf", "nan".
std::string real_repr(double value);

// "\x1b" or "\u001b": a backslash, the letter, the digits of the value.
void write_hex_escape(TextBuilder& out, char letter, uint32_t value, int n_digits, bool input);
Status too_deep();  // over kMaxWriteDepth

// Writers return a plain sentence (no position) when the value cannot be written; the caller looks at out.over_limit().
Status write_str(TextBuilder& out, const Value& value);
Status write_repr(TextBuilder& out, const Value& value, uint32_t depth = 0);

struct JsonStyle {
  bool ascii = false;  // escape everything beyond ASCII
  bool sort_keys = false;
  bool pretty = false;  // line breaks and `indent` per level
  std::string indent;
  std::string item_separator = ", ";  // "," where pretty
  std::string key_separator = ": ";
};
// json.dumps. All of the text is input if any part of the value was.
Status write_json(TextBuilder& out, const Value& value, const JsonStyle& style);

}  // namespace llmrt::jinja
