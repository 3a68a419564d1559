// A template's text as the lexer sees it (line ends are "\n", one at the very end is dropped), and places in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/status.h"

namespace llmrt::jinja {

// The parts one after another, numbers in decimal: phrase("unknown tag '", tag, "'").
template <class... Parts>
std::string phrase(const Parts&... parts) {
  std::string out;
  const auto append = [&out](const auto& part) {
    using Part = std::remove_cvref_t<decltype(part)>;
    if constexpr (std::is_same_v<Part, char>)
      out.push_back(part);
    else if constexpr (std::is_integral_v<Part>)
      out.append(std::to_string(part));
    else
      out.append(std::string_view(part));
  };
  (append(parts), ...);
  return out;
}

inline constexpr size_t kMaxTemplateSize = size_t{256} << 10;

class Source {
 public:
  static Result<Source> make(std::string_view text);

  const std::string& text() const { return text_; }
  struct Place {
    int32_t line = 1, column = 1;  // column in code points
  };
  Place place(size_t at) const;
  // template_error "chat template, line 3, column 7: sentence".
  Status error_at(size_t at, std::string_view sentence) const;
  // The same with a message of its own, which has no room for the place.
  Status error_as_is(size_t at, std::string_view message) const;

 private:
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

}  // namespace llmrt::jinja
