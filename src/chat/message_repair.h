// Messages as a template can take them: OpenAI's JSON, checked, with lossless repairs.
//
// The text of the input is kept byte for byte except where a repair applies, so numbers and spacing of nested values survive.
//   content null (or absent beside tool_calls)   ->  "" (null where the template shows tool calls only then)
//   content a list of text parts                  ->  the texts joined by "\n", where the template takes no lists
//   content a text                                ->  one text part, where the template takes lists only
//   tool_calls[i].function.arguments JSON text    ->  the object itself (an empty text or null: {}), or, where the template
//                                                     takes texts only, an object as its JSON text
//   role developer                                ->  system, where the template does not know it
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "chat_template/chat_template.h"

namespace llmrt {

inline constexpr size_t kMaxMessages = 65'536;

// Malformed messages: invalid_argument that names the message and the key, "name[2].content is ...".
Result<std::string> repair_messages(const char* name, std::string_view messages_json,
                                    const TemplateCaps& caps);

// Appends `text` as a JSON string.
void append_json_string(std::string& out, std::string_view text);

}  // namespace llmrt
