// A template's text as the lexer sees it (line ends are "\n", one at the very end is dropped), and places in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace llmrt::jinja {

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

 private:
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

}  // namespace llmrt::jinja
