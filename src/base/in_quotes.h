// Text from a file or a user, made fit for an error message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace llmrt {

// In double quotes, bytes outside printable ASCII as \xNN. What goes beyond max_bytes is cut, with "..." before the closing quote.
std::string in_quotes(std::string_view text, size_t max_bytes = 80);

}  // namespace llmrt
