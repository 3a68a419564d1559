// Template text to tokens, by the rules of jinja2's lexer with trim_blocks and lstrip_blocks on: a newline after a block tag
// or comment goes away, and so do blanks between the line's start and one; "-" strips all blanks on its side, "+" none.
#pragma once

#include <cstdint>
#include <vector>

#include "chat_template/template_source.h"
#include "chat_template/template_value.h"

namespace llmrt::jinja {

enum class TokenType : uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  text,
  integer,
  real,
  add,
  sub,
  mul,
  div,
  floor_div,
  mod,
  pow,
  tilde,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lparen,
  rparen,
  lbracket,
  rbracket,
  lbrace,
  rbrace,
  assign,
  dot,
  colon,
  pipe,
  comma,
  semicolon,
  end,
};

struct LexToken {
  TokenType type = TokenType::end;
  uint32_t at = 0;        // offset in the source, for messages
  std::string_view word;  // data, name: a part of the source
  Value value;            // text, integer, real
};

// The last token is `end`. Texts of string literals lie in `constants`.
Result<std::vector<LexToken>> tokenize(const Source& source, Arena& constants);

}  // namespace llmrt::jinja
