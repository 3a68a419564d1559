#include "chat_template/template_text.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

std::string real_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto [end, ec] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  (void)ec;  // 24 characters at most
  std::string digits;
  int exponent = 0;
  const bool negative = buffer[0] == '-';
  for (const char* p = buffer + (negative ? 1 : 0); p < end; ++p) {
    if (*p == 'e') {
      std::from_chars(p[1] == '+' ? p + 2 : p + 1, end, exponent);
      break;
    }
    if (*p != '.') digits += *p;
  }
  const int n = static_cast<int>(digits.size());
  std::string out = negative ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (n > 1) out.append(".").append(digits, 1);
    char e[8];
    const int size = std::abs(exponent);
    const auto done = std::to_chars(e, e + sizeof e, size);
    out.append(exponent < 0 ? "e-" : "e+").append(size < 10 ? "0" : "").append(e, done.ptr);
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits);
  } else if (n <= exponent + 1) {
    out.append(digits).append(static_cast<size_t>(exponent + 1 - n), '0').append(".0");
  } else {
    const auto whole = static_cast<size_t>(exponent) + 1;
    out.append(digits, 0, whole).append(".").append(digits, whole);
  }
  return out;
}

void write_hex_escape(TextBuilder& out, char letter, uint32_t value, int n_digits, bool input) {
  static constexpr char kHex[] = "0123456789abcdef";
  char b[12] = {'\\', letter};
  for (int i = 0; i < n_digits; ++i) b[2 + i] = kHex[(value >> (4 * (n_digits - 1 - i))) & 15];
  out.append(std::string_view(b, static_cast<size_t>(n_digits + 2)), input);
}

Status too_deep() {
  return error(Code::template_error, "value nested deeper than %u levels", kMaxWriteDepth);
}

namespace {

void write_integer(TextBuilder& out, int64_t value, bool input) {
  char buffer[24];
  const auto done = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(std::string_view(buffer, static_cast<size_t>(done.ptr - buffer)), input);
}

void write_text_repr(TextBuilder& out, const Text& text) {
  const std::string_view s = text.view();
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  const bool marks_input = text.any_input();
  out.append(quote, marks_input);
  const char* p = text.data;
  const char* end = p + text.size;
  while (p < end && !out.over_limit()) {
    const auto at = static_cast<size_t>(p - text.data);
    const bool input = text.is_input(at);
    const uint32_t cp = next_code_point(p, end);
    if (cp == '\\' || cp == static_cast<uint8_t>(quote)) {
      out.append('\\', input);
      out.append(static_cast<char>(cp), input);
    } else if (cp == '\n' || cp == '\r' || cp == '\t') {
      out.append(cp == '\n' ? "\\n" : cp == '\r' ? "\\r" : "\\t", input);
    } else if (is_printable(cp)) {
      out.append(text.slice(at, static_cast<size_t>(p - text.data) - at));
    } else if (cp < 0x100) {
      write_hex_escape(out, 'x', cp, 2, input);
    } else if (cp < 0x10000) {
      write_hex_escape(out, 'u', cp, 4, input);
    } else {
      write_hex_escape(out, 'U', cp, 8, input);
    }
  }
  out.append(quote, marks_input);
}

Status write_items(TextBuilder& out, const List& list, uint32_t depth) {
  for (uint32_t i = 0; i < list.size && !out.over_limit(); ++i) {
    if (i) out.append(", ", false);
    LLMRT_TRY(write_repr(out, list.items[i], depth + 1));
  }
  return Status();
}

Status write_dict_repr(TextBuilder& out, const Dict& dict, uint32_t depth) {
  out.append('{', false);
  for (uint32_t i = 0; i < dict.size && !out.over_limit(); ++i) {
    if (i) out.append(", ", false);
    LLMRT_TRY(write_repr(out, dict.entries[i].key, depth + 1));
    out.append(": ", false);
    LLMRT_TRY(write_repr(out, dict.entries[i].value, depth + 1));
  }
  out.append('}', false);
  return Status();
}

Status write_view_repr(TextBuilder& out, const DictView& view, uint32_t depth) {
  using What = DictView::What;
  out.append(view.what == What::keys     ? "dict_keys(["
             : view.what == What::values ? "dict_values(["
                                         : "dict_items([",
             false);
  for (uint32_t i = 0; i < view.dict->size && !out.over_limit(); ++i) {
    const Dict::Entry& e = view.dict->entries[i];
    if (i) out.append(", ", false);
    if (view.what == What::items) out.append('(', false);
    if (view.what != What::values) LLMRT_TRY(write_repr(out, e.key, depth + 1));
    if (view.what == What::items) out.append(", ", false);
    if (view.what != What::keys) LLMRT_TRY(write_repr(out, e.value, depth + 1));
    if (view.what == What::items) out.append(')', false);
  }
  out.append("])", false);
  return Status();
}

void write_range_repr(TextBuilder& out, const Range& range) {
  out.append("range(", false);
  write_integer(out, range.start, false);
  out.append(", ", false);
  write_integer(out, range.stop, false);
  if (range.step != 1) {
    out.append(", ", false);
    write_integer(out, range.step, false);
  }
  out.append(')', false);
}

}  // namespace

Status write_repr(TextBuilder& out, const Value& v, uint32_t depth) {
  if (depth > kMaxWriteDepth) return too_deep();
  switch (v.kind) {
    case Kind::unbound:
    case Kind::undefined:
      out.append("Undefined", false);
      break;
    case Kind::none:
      out.append("None", v.input);
      break;
    case Kind::boolean:
      out.append(v.boolean ? "True" : "False", v.input);
      break;
    case Kind::integer:
      write_integer(out, v.integer, v.input);
      break;
    case Kind::real:
      out.append(real_repr(v.real), v.input);
      break;
    case Kind::big_integer:
      out.append(*v.text);
      break;
    case Kind::text:
      write_text_repr(out, *v.text);
      break;
    case Kind::list:
      out.append('[', false);
      LLMRT_TRY(write_items(out, *v.list, depth));
      out.append(']', false);
      break;
    case Kind::tuple:
      out.append('(', false);
      LLMRT_TRY(write_items(out, *v.list, depth));
      out.append(v.list->size == 1 ? ",)" : ")", false);
      break;
    case Kind::dict:
      return write_dict_repr(out, *v.dict, depth);
    case Kind::dict_view:
      return write_view_repr(out, *v.view, depth);
    case Kind::range:
      write_range_repr(out, *v.range);
      break;
    case Kind::name_space:
      out.append("<Namespace ", false);
      LLMRT_TRY(write_dict_repr(out, *v.dict, depth));
      out.append('>', false);
      break;
    case Kind::generator:
    case Kind::loop:
    case Kind::function:
      return error(Code::template_error, "a %s has no text", type_name(v));
  }
  return Status();
}

Status write_str(TextBuilder& out, const Value& v) {
  if (v.is_text()) {
    out.append(*v.text);
    return Status();
  }
  if (v.is(Kind::undefined)) return Status();
  return write_repr(out, v);
}

}  // namespace llmrt::jinja
