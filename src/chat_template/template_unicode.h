// What Python's str knows about code points: blanks, letters, digits, case.
#pragma once

#include <cstdint>
#include <string_view>

#include "chat_template/template_builder.h"

namespace llmrt::jinja {

// Reads the code point at p (well-formed UTF-8 ends at `end`) and moves p past it.
uint32_t next_code_point(const char*& p, const char* end);
// Byte offset of code point number n (n <= their number).
size_t code_point_offset(std::string_view s, int64_t n);

bool is_space(uint32_t code_point);      // str.isspace, strip and split
bool is_line_end(uint32_t code_point);   // str.splitlines
bool is_printable(uint32_t code_point);  // repr escapes the others
bool is_letter(uint32_t code_point);
bool is_digit(uint32_t code_point);    // str.isdigit: decimal digits and super/subscript digits
bool is_decimal(uint32_t code_point);  // str.isdecimal
bool is_numeric(uint32_t code_point);
bool is_upper(uint32_t code_point);
bool is_lower(uint32_t code_point);
bool is_title(uint32_t code_point);
inline bool is_cased(uint32_t cp) { return is_upper(cp) || is_lower(cp) || is_title(cp); }

// Walks the code points of a text: `cp` stands at byte `offset`, `p` points past it.
struct CodePoints {  // walks a text
  explicit CodePoints(const Text& t) : p(t.data), begin(t.data), end(t.data + t.size) {}
  bool next() {
    if (p == end) return false;
    offset = static_cast<size_t>(p - begin);
    cp = next_code_point(p, end);
    return true;
  }
  const char* p;
  const char* begin;
  const char* end;
  size_t offset = 0;
  uint32_t cp = 0;
};

enum class Case : uint8_t { lower, upper, title };
// The code point in another case; several where the full mapping has several (the sharp s, ligatures), except for Greek
// letters with iota subscript, which keep their simple mapping.
void append_cased(TextBuilder& out, uint32_t code_point, Case to, bool input);

std::string_view strip_space_left(std::string_view s);
std::string_view strip_space_right(std::string_view s);

}  // namespace llmrt::jinja
