#include "tokenizer/unicode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/utf8.h"

namespace llmrt {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Highest code point of the byte-level alphabet + 1: the 68 unprintable bytes follow 255.
constexpr uint32_t kByteLevelEnd = 256 + 68;

// code point -> byte, 0xFFFF outside the alphabet.
constexpr std::array<uint16_t, kByteLevelEnd> make_byte_level_table() {
  std::array<uint16_t, kByteLevelEnd> table{};
  for (auto& entry : table) entry = 0xFFFF;
  uint32_t next = 256;
  for (uint32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    table[printable ? b : next++] = static_cast<uint16_t>(b);
  }
  return table;
}
constexpr auto kByteLevel = make_byte_level_table();

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

Utf8Step utf8_step(const char* p, size_t n) {
  const auto lead = static_cast<uint8_t>(p[0]);
  if (lead < 0x80) return {Utf8::whole, 1, lead};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8::broken, 1, 0};
  const uint32_t want = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Range of the second byte: no overlong forms, no surrogates, nothing above U+10FFFF (Unicode table 3-7).
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  uint32_t code_point = lead & (0x7Fu >> want);
  for (uint32_t i = 1; i < want; ++i) {
    if (i == n) return {Utf8::unfinished, i, 0};
    const auto c = static_cast<uint8_t>(p[i]);
    if (i == 1 ? (c < low || c > high) : !is_continuation(static_cast<char>(c)))
      return {Utf8::broken, i, 0};
    code_point = code_point << 6 | (c & 0x3Fu);
  }
  return {Utf8::whole, want, code_point};
}

size_t utf8_error_offset(std::string_view text) {
  const char* p = text.data();
  const size_t n = text.size();
  size_t i = 0;
  while (i < n) {
    if (i + 8 <= n) {  // eight ASCII bytes at a time
      uint64_t word = 0;
      std::memcpy(&word, p + i, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        i += 8;
        continue;
      }
    }
    const Utf8Step step = utf8_step(p + i, n - i);
    if (step.kind != Utf8::whole) return i;
    i += step.length;
  }
  return std::string_view::npos;
}

Status check_utf8(const char* name, std::string_view text) {
  const size_t bad = utf8_error_offset(text);
  if (bad == std::string_view::npos) return {};
  return error(Code::invalid_argument, "%s is not UTF-8: byte 0x%02x at offset %zu", name,
               static_cast<unsigned>(static_cast<uint8_t>(text[bad])), bad)
      .at(name);
}

std::string_view utf8_head(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && is_continuation(text[most])) --most;
  return text.substr(0, most);
}

void utf8_release(std::string& held, std::string_view bytes, std::string& out) {
  if (!held.empty()) {
    // What held begins is whole or broken by its fourth byte at the latest. Joined on the stack: this is part of every token's step.
    char head[7];
    const size_t n_held = held.size(), n_more = std::min<size_t>(bytes.size(), 4);
    std::copy_n(held.data(), n_held, head);
    std::copy_n(bytes.data(), n_more, head + n_held);
    const Utf8Step step = utf8_step(head, n_held + n_more);
    if (step.kind == Utf8::unfinished) {
      held += bytes;
      return;
    }
    held.clear();
    out += step.kind == Utf8::whole ? std::string_view(head, step.length) : kReplacement;
    bytes.remove_prefix(step.length - n_held);
  }
  size_t copied = 0;
  size_t i = 0;
  while (i < bytes.size()) {
    const Utf8Step step = utf8_step(bytes.data() + i, bytes.size() - i);
    if (step.kind == Utf8::whole) {
      i += step.length;
      continue;
    }
    out += bytes.substr(copied, i - copied);
    if (step.kind == Utf8::unfinished) {
      held = bytes.substr(i);
      return;
    }
    out += kReplacement;
    i += step.length;
    copied = i;
  }
  out += bytes.substr(copied);
}

bool append_byte_level(std::string_view text, std::string& bytes) {
  const size_t before = bytes.size();
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = utf8_step(text.data() + i, text.size() - i);
    if (step.kind != Utf8::whole || step.code_point >= kByteLevelEnd ||
        kByteLevel[step.code_point] > 0xFF) {
      bytes.resize(before);
      return false;
    }
    bytes.push_back(static_cast<char>(kByteLevel[step.code_point]));
    i += step.length;
  }
  return true;
}

void append_blanks_as_marks(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size();) {
    const size_t blank = std::min(text.find(' ', i), text.size());
    out += text.substr(i, blank - i);
    if (blank < text.size()) out += kBlankMark;
    i = blank + 1;
  }
}

void append_marks_as_blanks(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size();) {
    const size_t mark = std::min(text.find(kBlankMark, i), text.size());
    out += text.substr(i, mark - i);
    if (mark < text.size()) out += ' ';
    i = mark + kBlankMark.size();
  }
}

int parse_byte_token(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace llmrt
