#include "base/in_quotes.h"

namespace llmrt {

std::string in_quotes(std::string_view text, size_t max_bytes) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    const size_t whole = out.size();
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    if (out.size() > 1 + max_bytes) {
      out.resize(whole);
      out += "...";
      break;
    }
  }
  out += '"';
  return out;
}

}  // namespace llmrt
