#include "tokenizer/unicode.h"

#include <doctest/doctest.h>

#include <string>

using namespace llmrt;

namespace {

std::string released(const std::string& bytes) {
  std::string held;
  std::string out;
  utf8_release(held, bytes, out);
  if (!held.empty()) out.append("|").append(std::to_string(held.size()));
  return out;
}

}  // namespace

TEST_CASE("unicode: the head of a text cuts no code point") {
  const std::string text = "a\xC3\xA9\xF0\x9F\xA6\x99";
  CHECK(utf8_head(text, 0) == "");
  CHECK(utf8_head(text, 2) == "a");
  CHECK(utf8_head(text, 3) == "a\xC3\xA9");
  CHECK(utf8_head(text, 6) == "a\xC3\xA9");
  CHECK(utf8_head(text, 7) == text);
  CHECK(utf8_head(text, 100) == text);
}

TEST_CASE("unicode: the offset of the first byte outside a whole code point is found") {
  CHECK(utf8_error_offset("") == std::string_view::npos);
  CHECK(utf8_error_offset("plain ASCII that is longer than one word") == std::string_view::npos);
  CHECK(utf8_error_offset("\xC3\xA9 \xE2\x96\x81 \xF0\x9F\xA6\x99") == std::string_view::npos);
  CHECK(utf8_error_offset("0123456789\xFF") == 10);
  CHECK(utf8_error_offset("a\xC3(") == 1);
  CHECK(utf8_error_offset("\xC0\xAF") == 0);              // overlong
  CHECK(utf8_error_offset("ok\xED\xA0\x80") == 2);        // surrogate
  CHECK(utf8_error_offset("\xF4\x90\x80\x80") == 0);      // above U+10FFFF
  CHECK(utf8_error_offset("\xEF\xBF\xBD\xF0\x9F") == 3);  // unfinished
  CHECK(utf8_error_offset(std::string_view("a\0b", 3)) == std::string_view::npos);
}

TEST_CASE("unicode: every code point is whole and no other byte sequence is") {
  size_t n_whole = 0;
  for (uint32_t a = 0x80; a < 0x100; ++a)
    for (uint32_t b = 0x80; b < 0x100; ++b) {
      const char two[] = {static_cast<char>(a), static_cast<char>(b)};
      n_whole += utf8_step(two, 2).kind == Utf8::whole && utf8_step(two, 2).length == 2;
      for (uint32_t c = 0x80; c < 0x100; ++c) {
        const char three[] = {static_cast<char>(a), static_cast<char>(b), static_cast<char>(c)};
        n_whole += utf8_step(three, 3).kind == Utf8::whole && utf8_step(three, 3).length == 3;
      }
    }
  CHECK(n_whole == (0x800 - 0x80) + (0x10000 - 0x800 - 0x800));
}

TEST_CASE(
    "unicode: whole code points are released, broken runs become one replacement each, an "
    "unfinished end is held") {
  CHECK(released("caf\xC3\xA9") == "caf\xC3\xA9");
  CHECK(released("x\xF0\x9F\xA6") == "x|3");
  CHECK(released("x\xE2\x82") == "x|2");
  CHECK(released("\xFFy") == "\xEF\xBF\xBDy");
  CHECK(released("\xE2\x82z") == "\xEF\xBF\xBDz");              // one run of two bytes
  CHECK(released("\xED\xA0z") == "\xEF\xBF\xBD\xEF\xBF\xBDz");  // a surrogate's bytes each
}

TEST_CASE("unicode: bytes fed one at a time give the text of all at once") {
  const std::string bytes = "a\xC3\xA9\xF0\x9F\xA6\x99\xFF\xE2\x82(\xF0\x9F z\xF4\x90 \xE2\x96\x81";
  std::string held;
  std::string one;
  for (const char c : bytes) {
    utf8_release(held, std::string_view(&c, 1), one);
    CHECK(held.size() <= 3);
  }
  CHECK(one == released(bytes));
}

TEST_CASE("unicode: an unfinished code point goes on in a piece of any length") {
  const std::string bytes = "a\xC3\xA9\xF0\x9F\xA6\x99\xFF\xE2\x82(\xF0\x9F z\xF4\x90 \xE2\x96\x81";
  for (size_t cut = 0; cut <= bytes.size(); ++cut)
    for (size_t second = cut; second <= bytes.size(); ++second) {
      std::string held, out;
      utf8_release(held, std::string_view(bytes).substr(0, cut), out);
      utf8_release(held, std::string_view(bytes).substr(cut, second - cut), out);
      utf8_release(held, std::string_view(bytes).substr(second), out);
      CHECK(held.empty());
      CHECK(out == released(bytes));
    }
}

TEST_CASE("unicode: the byte-level alphabet spells every byte once and nothing else") {
  std::string bytes;
  // Printable bytes spell themselves, the others follow U+0100 in order: 0 is U+0100, blank U+0120, 0x7F U+0121, 0xAD U+0143.
  CHECK(append_byte_level("A\xC2\xA1\xC3\xBF", bytes));
  CHECK(append_byte_level("\xC4\x80\xC4\xA0\xC4\xA1\xC5\x83", bytes));
  CHECK(bytes == std::string("A\xA1\xFF\0 \x7F\xAD", 7));
  const std::string before = bytes;
  for (const char* outside : {" ", "\n", "\xC5\x84", "\xE2\x96\x81", "a\xC2\xAD"}) {
    CHECK_FALSE(append_byte_level(outside, bytes));
    CHECK(bytes == before);
  }
}

TEST_CASE("unicode: blanks and marks replace each other") {
  std::string out;
  append_blanks_as_marks("a  b ", out);
  CHECK(out ==
        "a\xE2\x96\x81\xE2\x96\x81"
        "b\xE2\x96\x81");
  std::string back;
  append_marks_as_blanks(out, back);
  CHECK(back == "a  b ");
}

TEST_CASE("unicode: byte tokens are read from their text") {
  CHECK(parse_byte_token("<0x0A>") == 10);
  CHECK(parse_byte_token("<0xff>") == 255);
  for (const char* other : {"<0x0G>", "<0x0>", "<0x00", "0x0A", "<0x0A>>"})
    CHECK(parse_byte_token(other) == -1);
}
