#include "chat_template/template_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

namespace {

std::string group_digits(const std::string& digits, char separator, size_t group) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out;
}

}  // namespace

// "e5" as to_chars writes "e+05": two digits at least, as Python has.
std::string digits_of_real(double magnitude, char type, int precision, bool alternate) {
  if (std::isnan(magnitude)) return "nan";
  if (std::isinf(magnitude)) return "inf";
  const char lower = static_cast<char>(type | 0x20);
  std::string buffer(800, '\0');
  char* end = buffer.data() + buffer.size();
  if (lower == 'g' && precision == 0) precision = 1;
  const auto format = lower == 'f'   ? std::chars_format::fixed
                      : lower == 'e' ? std::chars_format::scientific
                                     : std::chars_format::general;
  const auto done = std::to_chars(buffer.data(), end, magnitude, format, precision);
  buffer.resize(static_cast<size_t>(done.ptr - buffer.data()));
  if (alternate && buffer.find('.') == buffer.npos)
    buffer.insert(std::min(buffer.find('e'), buffer.size()), size_t{1}, '.');
  return buffer;
}

// Sign, digits, padding between them where the fill goes there.
void write_number(TextBuilder& out, const FormatSpec& spec, bool negative,
                  const std::string& prefix, std::string digits, bool upper, size_t group,
                  bool input) {
  if (spec.grouping) {
    const size_t whole = std::min(digits.find_first_of(".e"), digits.size());
    const std::string fraction = digits.substr(whole);
    digits = group_digits(digits.substr(0, whole), spec.grouping, group);
    digits += fraction;
  }
  std::string sign;
  if (negative || spec.sign != '-') sign += negative ? '-' : spec.sign;
  sign += prefix;
  if (upper) {
    for (std::string* s : {&sign, &digits})
      for (char& c : *s) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  const int64_t missing =
      std::max<int64_t>(spec.width - static_cast<int64_t>(sign.size() + digits.size()), 0);
  const bool zero = spec.zero && spec.align == 0;
  const char align = zero ? '=' : spec.align ? spec.align : '>';
  const uint32_t fill = zero ? '0' : spec.fill;
  const int64_t left = align == '<' || align == '=' ? 0 : align == '^' ? missing / 2 : missing;
  const auto pad = [&](int64_t n) {
    for (; n > 0; --n) out.append_code_point(fill, false);
  };
  pad(left);
  out.append(sign, input);
  if (align == '=') pad(missing);
  out.append(digits, input);
  if (align != '=') pad(missing - left);
}

void write_padded(TextBuilder& out, const FormatSpec& spec, Text text) {
  int64_t n = length_of(Value::of_text(&text));
  if (spec.precision >= 0 && spec.precision < n) {
    text = text.slice(0, code_point_offset(text.view(), spec.precision));
    n = spec.precision;
  }
  const int64_t missing = std::max<int64_t>(spec.width - n, 0);
  const int64_t left = spec.align == '>' ? missing : spec.align == '^' ? missing / 2 : 0;
  const auto pad = [&](int64_t k) {
    for (; k > 0; --k) out.append_code_point(spec.fill, false);
  };
  pad(left);
  out.append(text);
  pad(missing - left);
}

void write_int(TextBuilder& out, const FormatSpec& spec, int64_t value, bool input) {
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const char lower = static_cast<char>(spec.type | 0x20);
  const int base = lower == 'x' ? 16 : lower == 'o' ? 8 : lower == 'b' ? 2 : 10;
  char buffer[72];
  const auto done = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base);
  std::string digits(buffer, done.ptr);
  std::string prefix;
  if (spec.alternate && base != 10) prefix.append(1, '0').append(1, lower);
  write_number(out, spec, value < 0, prefix, std::move(digits), spec.type == 'X',
               base == 10 ? 3 : 4, input);
}

void write_real(TextBuilder& out, const FormatSpec& spec, double value, bool input) {
  const char type = spec.type == '%' ? 'f' : spec.type;
  if (spec.type == '%') value *= 100;
  std::string digits =
      digits_of_real(std::fabs(value), type,
                     static_cast<int>(spec.precision < 0 ? 6 : spec.precision), spec.alternate);
  if (spec.type == '%') digits += '%';
  const bool finite = std::isfinite(value);
  FormatSpec used = spec;
  if (!finite) used.grouping = 0;
  write_number(out, used, std::signbit(value) && !std::isnan(value), "", std::move(digits),
               type == 'F' || type == 'E' || type == 'G', 3, input);
}

}  // namespace llmrt::jinja
