// UTF-8 one code point at a time, the byte-level alphabet of GPT-2 vocabularies, and the SentencePiece blank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace llmrt {

// The mark U+2581 that stands for a blank in SentencePiece vocabularies.
inline constexpr std::string_view kBlankMark = "\xE2\x96\x81";

enum class Utf8 : uint8_t { whole, broken, unfinished };

// What stands at the front of [p, p + n), n >= 1: a whole code point of `length` bytes; or a maximal run of `length` bytes that no
// continuation can make valid (Unicode 3.9: one U+FFFD each); or, only at the end of the bytes, the beginning of a code point.
struct Utf8Step {
  Utf8 kind = Utf8::whole;
  uint32_t length = 0;
  uint32_t code_point = 0;  // of a whole one
};
Utf8Step utf8_step(const char* p, size_t n);

// Offset of the first byte that is not part of a whole code point; npos if the text is well-formed.
size_t utf8_error_offset(std::string_view text);

// invalid_argument at name: "utf8 is not UTF-8: byte 0xff at offset 3".
Status check_utf8(const char* name, std::string_view text);

// The longest start of well-formed text that has at most so many bytes and cuts no code point.
std::string_view utf8_head(std::string_view text, size_t most);

// Bytes of the code point that a lead byte opens, in well-formed text.
inline uint32_t utf8_length(char lead) {
  const auto c = static_cast<uint8_t>(lead);
  return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}

// Appends bytes to held, moves whole code points to out, turns broken runs into U+FFFD, keeps an unfinished end (at most 3 bytes).
void utf8_release(std::string& held, std::string_view bytes, std::string& out);

// The byte-level alphabet: each byte is one printable code point (GPT-2's encoder.py, bytes_to_unicode).
// Appends the bytes that `text` spells; false (with `bytes` undone) if it holds a character outside the alphabet.
bool append_byte_level(std::string_view text, std::string& bytes);

// "Hello world" <-> "Hello<mark>world".
void append_blanks_as_marks(std::string_view text, std::string& out);
void append_marks_as_blanks(std::string_view text, std::string& out);

// 0..255 of a byte token's text "<0x0A>", -1 if it is none.
int parse_byte_token(std::string_view text);

}  // namespace llmrt
