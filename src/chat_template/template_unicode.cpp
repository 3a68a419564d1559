#include "chat_template/template_unicode.h"

#include <utf8proc.h>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

uint32_t next_code_point(const char*& p, const char* end) {
  const auto lead = static_cast<uint8_t>(*p);
  if (lead < 0x80) {
    ++p;
    return lead;
  }
  const Utf8Step step = utf8_step(p, static_cast<size_t>(end - p));
  p += step.length ? step.length : 1;
  return step.kind == Utf8::whole ? step.code_point : 0xFFFD;
}

size_t code_point_offset(std::string_view s, int64_t n) {
  size_t at = 0;
  for (; n > 0 && at < s.size(); --n) at += utf8_length(s[at]);
  return at;
}

bool is_space(uint32_t cp) {
  if (cp < 0x80) return cp == ' ' || (cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x1F);
  return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) ||
         cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

bool is_line_end(uint32_t cp) {
  return (cp >= 10 && cp <= 13) || (cp >= 0x1C && cp <= 0x1E) || cp == 0x85 || cp == 0x2028 ||
         cp == 0x2029;
}

namespace {

utf8proc_category_t category(uint32_t cp) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(cp));
}

struct FullUpper {
  uint32_t from;
  uint32_t upper[3];
  uint32_t title[3];
};

// Unicode SpecialCasing, unconditional mappings to several code points.
constexpr FullUpper kFullUpper[] = {
    {0xDF, {'S', 'S'}, {'S', 's'}},
    {0x149, {0x2BC, 'N'}, {0x2BC, 'N'}},
    {0x1F0, {'J', 0x30C}, {'J', 0x30C}},
    {0x390, {0x399, 0x308, 0x301}, {0x399, 0x308, 0x301}},
    {0x3B0, {0x3A5, 0x308, 0x301}, {0x3A5, 0x308, 0x301}},
    {0x587, {0x535, 0x552}, {0x535, 0x582}},
    {0x1E96, {'H', 0x331}, {'H', 0x331}},
    {0x1E97, {'T', 0x308}, {'T', 0x308}},
    {0x1E98, {'W', 0x30A}, {'W', 0x30A}},
    {0x1E99, {'Y', 0x30A}, {'Y', 0x30A}},
    {0x1E9A, {'A', 0x2BE}, {'A', 0x2BE}},
    {0xFB00, {'F', 'F'}, {'F', 'f'}},
    {0xFB01, {'F', 'I'}, {'F', 'i'}},
    {0xFB02, {'F', 'L'}, {'F', 'l'}},
    {0xFB03, {'F', 'F', 'I'}, {'F', 'f', 'i'}},
    {0xFB04, {'F', 'F', 'L'}, {'F', 'f', 'l'}},
    {0xFB05, {'S', 'T'}, {'S', 't'}},
    {0xFB06, {'S', 'T'}, {'S', 't'}},
    {0xFB13, {0x544, 0x546}, {0x544, 0x576}},
    {0xFB14, {0x544, 0x535}, {0x544, 0x565}},
    {0xFB15, {0x544, 0x53B}, {0x544, 0x56B}},
    {0xFB16, {0x54E, 0x546}, {0x54E, 0x576}},
    {0xFB17, {0x544, 0x53D}, {0x544, 0x56D}},
};

}  // namespace

bool is_printable(uint32_t cp) {
  if (cp < 0x7F) return cp >= 0x20;
  switch (category(cp)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_letter(uint32_t cp) {
  const auto c = category(cp);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(uint32_t cp) { return category(cp) == UTF8PROC_CATEGORY_ND; }

bool is_digit(uint32_t cp) {
  return is_decimal(cp) || cp == 0xB2 || cp == 0xB3 || cp == 0xB9 || cp == 0x2070 ||
         (cp >= 0x2074 && cp <= 0x2079) || (cp >= 0x2080 && cp <= 0x2089) ||
         (cp >= 0x2460 && cp <= 0x2468) || (cp >= 0x2474 && cp <= 0x247C);
}

bool is_numeric(uint32_t cp) {
  const auto c = category(cp);
  return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

bool is_upper(uint32_t cp) {
  if (cp < 0x80) return cp >= 'A' && cp <= 'Z';
  return category(cp) == UTF8PROC_CATEGORY_LU;
}
bool is_lower(uint32_t cp) {
  if (cp < 0x80) return cp >= 'a' && cp <= 'z';
  return category(cp) == UTF8PROC_CATEGORY_LL || cp == 0xAA || cp == 0xBA;
}
bool is_title(uint32_t cp) { return cp >= 0x80 && category(cp) == UTF8PROC_CATEGORY_LT; }

void append_cased(TextBuilder& out, uint32_t cp, Case to, bool input) {
  if (cp < 0x80) {
    const bool letter = to == Case::lower ? (cp >= 'A' && cp <= 'Z') : (cp >= 'a' && cp <= 'z');
    out.append(static_cast<char>(letter ? cp ^ 0x20 : cp), input);
    return;
  }
  const auto c = static_cast<utf8proc_int32_t>(cp);
  if (to == Case::lower) {
    if (cp == 0x130) {  // I with dot: i and a combining dot
      out.append("i\xCC\x87", input);
      return;
    }
    out.append_code_point(static_cast<uint32_t>(utf8proc_tolower(c)), input);
    return;
  }
  for (const FullUpper& full : kFullUpper) {
    if (full.from != cp) continue;
    for (const uint32_t one : to == Case::upper ? full.upper : full.title)
      if (one) out.append_code_point(one, input);
    return;
  }
  out.append_code_point(
      static_cast<uint32_t>(to == Case::upper ? utf8proc_toupper(c) : utf8proc_totitle(c)), input);
}

std::string_view strip_space_left(std::string_view s) {
  const char* p = s.data();
  const char* end = p + s.size();
  while (p < end) {
    const char* at = p;
    if (!is_space(next_code_point(p, end))) return {at, static_cast<size_t>(end - at)};
  }
  return s.substr(s.size());
}

std::string_view strip_space_right(std::string_view s) {
  while (!s.empty()) {
    size_t at = s.size() - 1;
    while (at > 0 && is_continuation(s[at])) --at;
    const char* p = s.data() + at;
    if (!is_space(next_code_point(p, s.data() + s.size()))) return s;
    s = s.substr(0, at);
  }
  return s;
}

}  // namespace llmrt::jinja
