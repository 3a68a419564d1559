// Python's two ways to format: "%s" % values and "{}".format(values). The format's bytes keep their origin, so do text values.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "tokenizer/chat_template_builtins.h"
#include "tokenizer/chat_template_eval.h"
#include "tokenizer/chat_template_text.h"
#include "tokenizer/chat_template_unicode.h"

namespace llmrt::jinja {

namespace {

constexpr int64_t kMaxWidth = 100'000;
constexpr int kMaxPrecision = 300;

// One conversion: what both mini languages can ask for.
struct Spec {
  uint32_t fill = ' ';
  char align = 0;   // < > ^ =, 0: by type
  char sign = '-';  // - + or blank
  bool alternate = false;
  bool zero = false;
  char grouping = 0;  // , or _
  int64_t width = 0;
  int64_t precision = -1;
  char type = 0;
};

std::string group_digits(const std::string& digits, char separator, size_t group) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += separator;
    out += digits[i];
  }
  return out;
}

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
    buffer.insert(std::min(buffer.find('e'), buffer.size()), ".");
  return buffer;
}

// Sign, digits, padding between them where the fill goes there.
void write_number(TextBuilder& out, const Spec& spec, bool negative, std::string prefix,
                  std::string digits, bool upper, size_t group, bool input) {
  if (spec.grouping) {
    const size_t whole = std::min(digits.find_first_of(".e"), digits.size());
    digits = group_digits(digits.substr(0, whole), spec.grouping, group) + digits.substr(whole);
  }
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
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

void write_padded(TextBuilder& out, const Spec& spec, Text text) {
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

void write_int(TextBuilder& out, const Spec& spec, int64_t value, bool input) {
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const char lower = static_cast<char>(spec.type | 0x20);
  const int base = lower == 'x' ? 16 : lower == 'o' ? 8 : lower == 'b' ? 2 : 10;
  char buffer[72];
  const auto done = std::to_chars(buffer, buffer + sizeof buffer, magnitude, base);
  std::string digits(buffer, done.ptr);
  const std::string prefix = spec.alternate && base != 10 ? std::string("0") + lower : "";
  write_number(out, spec, value < 0, prefix, std::move(digits), spec.type == 'X',
               base == 10 ? 3 : 4, input);
}

void write_real(TextBuilder& out, const Spec& spec, double value, bool input) {
  const char type = spec.type == '%' ? 'f' : spec.type;
  if (spec.type == '%') value *= 100;
  std::string digits =
      digits_of_real(std::fabs(value), type,
                     static_cast<int>(spec.precision < 0 ? 6 : spec.precision), spec.alternate);
  if (spec.type == '%') digits += '%';
  const bool finite = std::isfinite(value);
  Spec used = spec;
  if (!finite) used.grouping = 0;
  write_number(out, used, std::signbit(value) && !std::isnan(value), "", std::move(digits),
               type == 'F' || type == 'E' || type == 'G', 3, input);
}

// --- %

class PercentFormat {
 public:
  PercentFormat(Evaluator& run, uint32_t at, const Text& format, const Value& arguments)
      : run_(run), at_(at), format_(format), arguments_(arguments) {}

  Result<Value> write() {
    LLMRT_TRY(run_.charge(at_, format_.size / 64));
    TextBuilder out = run_.builder();
    const std::string_view s = format_.view();
    size_t i = 0;
    while (i < s.size()) {
      const size_t percent = std::min(s.find('%', i), s.size());
      out.append(format_.slice(i, percent - i));
      if (percent == s.size()) break;
      i = percent + 1;
      LLMRT_TRY(run_.charge(at_, 1));
      LLMRT_TRY(conversion(out, s, i));
    }
    const bool all_used = arguments_.is(Kind::tuple) ? next_ >= arguments_.list->size
                                                     : next_ > 0 || arguments_.is(Kind::dict) ||
                                                           by_key_ || arguments_.is(Kind::list);
    if (!all_used) return run_.fail(at_, "more values than the format takes");
    return run_.finish(at_, out);
  }

 private:
  Result<Value> next_value() {
    if (arguments_.is(Kind::tuple)) {
      if (next_ >= arguments_.list->size)
        return run_.fail(at_, "fewer values than the format takes");
      return arguments_.list->items[next_++];
    }
    if (next_++ > 0) return run_.fail(at_, "fewer values than the format takes");
    return arguments_;
  }
  Result<int64_t> number(std::string_view s, size_t& i) {
    if (i < s.size() && s[i] == '*') {
      ++i;
      LLMRT_ASSIGN(const Value v, next_value());
      if (!v.is_integral()) return run_.fail(at_, "'*' in a format takes an integer");
      if (v.as_int() > kMaxWidth || v.as_int() < -kMaxWidth)
        return run_.fail(at_, "a width that is too large");
      return v.as_int();
    }
    int64_t n = 0;
    for (; i < s.size() && s[i] >= '0' && s[i] <= '9'; ++i) {
      n = n * 10 + (s[i] - '0');
      if (n > kMaxWidth) return run_.fail(at_, "a width that is too large");
    }
    return n;
  }

  Status conversion(TextBuilder& out, std::string_view s, size_t& i) {
    Value keyed;
    if (i < s.size() && s[i] == '(') {
      const size_t close = s.find(')', i);
      if (close == s.npos) return run_.fail(at_, "a format key without its ')'");
      if (!arguments_.is(Kind::dict)) return run_.fail(at_, "the format takes a dict");
      const Value* found = arguments_.dict->find(s.substr(i + 1, close - i - 1));
      if (!found) return run_.fail(at_, "the format names a key that the dict has not");
      keyed = *found;
      by_key_ = true;
      i = close + 1;
    }
    Spec spec;
    bool left = false;
    for (; i < s.size(); ++i) {
      if (s[i] == '-')
        left = true;
      else if (s[i] == '+')
        spec.sign = '+';
      else if (s[i] == ' ')
        spec.sign = spec.sign == '+' ? '+' : ' ';
      else if (s[i] == '0')
        spec.zero = true;
      else if (s[i] == '#')
        spec.alternate = true;
      else
        break;
    }
    LLMRT_ASSIGN(spec.width, number(s, i));
    if (spec.width < 0) {
      left = true;
      spec.width = -spec.width;
    }
    if (i < s.size() && s[i] == '.') {
      ++i;
      LLMRT_ASSIGN(spec.precision, number(s, i));
      spec.precision = std::max<int64_t>(spec.precision, 0);
    }
    while (i < s.size() && (s[i] == 'l' || s[i] == 'h' || s[i] == 'L')) ++i;
    if (i == s.size()) return run_.fail(at_, "an incomplete format");
    spec.type = s[i++];
    spec.align = left ? '<' : 0;
    if (spec.type == '%') {
      out.append('%', format_.is_input(i - 1));
      return Status();
    }
    Value v = keyed;
    if (v.is(Kind::unbound)) {
      LLMRT_ASSIGN(v, next_value());
    }
    return value(out, spec, left, v);
  }

  Status value(TextBuilder& out, Spec& spec, bool left, const Value& v) {
    switch (spec.type) {
      case 's':
      case 'r':
      case 'a': {
        spec.align = left ? '<' : '>';
        Text text;
        if (spec.type == 's') {
          LLMRT_ASSIGN(text, run_.to_text(at_, v));
        } else {
          TextBuilder repr = run_.builder();
          const Status written = write_repr(repr, v);
          if (!written.ok()) return run_.fail(at_, written);
          LLMRT_ASSIGN(const Value whole, run_.finish(at_, repr));
          text = *whole.text;
        }
        write_padded(out, spec, text);
        return Status();
      }
      case 'c': {
        spec.align = left ? '<' : '>';
        spec.precision = -1;
        if (v.is_text() && length_of(v) == 1) {
          write_padded(out, spec, *v.text);
          return Status();
        }
        if (!v.is_integral() || v.as_int() < 0 || v.as_int() > 0x10FFFF ||
            (v.as_int() >= 0xD800 && v.as_int() < 0xE000))
          return run_.fail(at_, "%c takes one character or its number");
        TextBuilder one = run_.builder();
        one.append_code_point(static_cast<uint32_t>(v.as_int()), v.input);
        write_padded(out, spec, *one.finish(run_.arena()));
        return Status();
      }
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return integer(out, spec, v);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        if (!v.is_number())
          return run_.fail(at_,
                           std::string("%") + spec.type + " takes a number, not " + type_name(v));
        if (spec.precision > kMaxPrecision) return run_.fail(at_, "a precision that is too large");
        write_real(out, spec, v.as_real(), v.input);
        return Status();
      default:
        return run_.fail(at_, "a format character that is not supported");
    }
  }

  Status integer(TextBuilder& out, Spec& spec, const Value& v) {
    int64_t n = 0;
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (v.is_integral()) {
      n = v.as_int();
    } else if (v.is(Kind::real) && decimal && std::fabs(v.real) < 9.2e18) {
      n = static_cast<int64_t>(v.real);
    } else {
      return run_.fail(at_,
                       std::string("%") + spec.type + " takes an integer, not " + type_name(v));
    }
    if (decimal) spec.type = 'd';
    if (spec.precision >= 0) {  // leading zeros up to the precision
      if (spec.precision > kMaxPrecision) return run_.fail(at_, "a precision that is too large");
      TextBuilder digits = run_.builder();
      Spec inner = spec;
      inner.zero = true;
      inner.align = 0;
      inner.width = spec.precision + (n < 0 || spec.sign != '-' ? 1 : 0);
      write_int(digits, inner, n, v.input);
      spec.precision = -1;
      spec.align = spec.align == '<' ? '<' : '>';
      write_padded(out, spec, *digits.finish(run_.arena()));
      return Status();
    }
    write_int(out, spec, n, v.input);
    return Status();
  }

  Evaluator& run_;
  uint32_t at_;
  const Text& format_;
  const Value& arguments_;
  uint32_t next_ = 0;
  bool by_key_ = false;
};

// --- {}

class BraceFormat {
 public:
  explicit BraceFormat(Call& call) : call_(call), run_(call.run), format_(*call.args[0].text) {}

  Result<Value> write() {
    TextBuilder out = run_.builder();
    LLMRT_TRY(run_.charge(call_.at, format_.size / 64));
    LLMRT_TRY(text(out, 0, format_.size, 0));
    return run_.finish(call_.at, out);
  }

 private:
  // Fields may stand inside a field's format, one level deep.
  Status text(TextBuilder& out, size_t i, size_t end, int level) {
    const std::string_view s = format_.view();
    while (i < end) {
      const char c = s[i];
      if (c != '{' && c != '}') {
        const size_t next = std::min(s.find_first_of("{}", i), end);
        out.append(format_.slice(i, next - i));
        i = next;
      } else if (i + 1 < end && s[i + 1] == c) {
        out.append(format_.slice(i, 1));
        i += 2;
      } else if (c == '}') {
        return call_.fail("a single '}' in the format");
      } else {
        size_t close = i + 1;
        for (int depth = 1; close < end; ++close) {
          if (s[close] == '{') ++depth;
          if (s[close] == '}' && --depth == 0) break;
        }
        if (close >= end) return call_.fail("a '{' without its '}' in the format");
        LLMRT_TRY(field(out, i + 1, close, level));
        i = close + 1;
      }
    }
    return Status();
  }

  Status field(TextBuilder& out, size_t begin, size_t end, int level) {
    LLMRT_TRY(run_.charge(call_.at, 1));
    if (level > 1) return call_.fail("fields nested too deep");
    const std::string_view s = format_.view();
    size_t name_end = begin;
    for (int brackets = 0; name_end < end; ++name_end) {
      if (s[name_end] == '[') ++brackets;
      if (s[name_end] == ']') --brackets;
      if (brackets == 0 && (s[name_end] == ':' || s[name_end] == '!')) break;
    }
    LLMRT_ASSIGN(Value value, lookup(format_.slice(begin, name_end - begin)));
    size_t i = name_end;
    char conversion = 0;
    if (i < end && s[i] == '!') {
      if (i + 1 >= end) return call_.fail("'!' without a conversion");
      conversion = s[i + 1];
      i += 2;
      if (i < end && s[i] != ':') return call_.fail("expected ':' after the conversion");
    }
    if (conversion) {
      TextBuilder converted = run_.builder();
      if (conversion != 's' && conversion != 'r') return call_.fail("conversions are !s and !r");
      const Status written =
          conversion == 's' ? write_str(converted, value) : write_repr(converted, value);
      if (!written.ok()) return run_.fail(call_.at, written);
      LLMRT_ASSIGN(value, run_.finish(call_.at, converted));
    }
    TextBuilder spec = run_.builder();
    if (i < end) LLMRT_TRY(text(spec, i + 1, end, level + 1));
    return formatted(out, value, spec.bytes());
  }

  // name_or_number, then .attribute and [index] parts.
  Result<Value> lookup(const Text& name) {
    const std::string_view s = name.view();
    size_t i = std::min(s.find_first_of(".["), s.size());
    LLMRT_ASSIGN(Value value, argument(s.substr(0, i)));
    while (i < s.size()) {
      LLMRT_TRY(run_.charge(call_.at, 1));
      const size_t start = i + 1;
      if (s[i] == '.') {
        i = std::min(s.find_first_of(".[", start), s.size());
        LLMRT_ASSIGN(value, run_.attribute(call_.at, value, name.slice(start, i - start)));
      } else if (s[i] == '[') {
        const size_t close = s.find(']', start);
        if (close == s.npos) return call_.fail("a '[' without its ']' in the format");
        const Text part = name.slice(start, close - start);
        int64_t index = 0;
        const auto [p, ec] = std::from_chars(part.data, part.data + part.size, index);
        const bool number = ec == std::errc() && p == part.data + part.size;
        LLMRT_ASSIGN(value,
                     run_.item(call_.at, value,
                               number ? Value::of_int(index) : text_value(run_.arena(), part)));
        i = close + 1;
      } else {
        return call_.fail("only '.' or '[' may follow ']' in a format");
      }
      if (value.is(Kind::undefined)) return run_.fail_undefined(call_.at, value);
    }
    return value;
  }

  Result<Value> argument(std::string_view name) {
    size_t index = 0;
    const auto [p, ec] = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool number = !name.empty() && ec == std::errc() && p == name.data() + name.size();
    if (name.empty() || number) {
      if (number ? automatic_ : manual_)
        return call_.fail("numbered and unnumbered fields cannot be mixed");
      (number ? manual_ : automatic_) = true;
      if (!number) index = next_++;
      if (index >= call_.rest.size())
        return call_.fail("the format takes more values than are given");
      return call_.rest[index];
    }
    for (const NamedValue& named : call_.named)
      if (named.name->view() == name) return named.value;
    return call_.fail("the format names a value that is not given");
  }

  Status parse_spec(std::string_view s, Spec& spec) {
    const char* p = s.data();
    const char* end = p + s.size();
    const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
    if (p < end) {
      const char* after = p;
      const uint32_t fill = next_code_point(after, end);
      if (after < end && is_align(*after)) {
        spec.fill = fill;
        spec.align = *after;
        p = after + 1;
      } else if (is_align(*p)) {
        spec.align = *p++;
      }
    }
    if (p < end && (*p == '+' || *p == '-' || *p == ' ')) spec.sign = *p++;
    if (p < end && *p == '#') {
      spec.alternate = true;
      ++p;
    }
    if (p < end && *p == '0') {
      spec.zero = true;
      ++p;
    }
    for (; p < end && *p >= '0' && *p <= '9'; ++p) {
      spec.width = spec.width * 10 + (*p - '0');
      if (spec.width > kMaxWidth) return call_.fail("a width that is too large");
    }
    if (p < end && (*p == ',' || *p == '_')) spec.grouping = *p++;
    if (p < end && *p == '.') {
      spec.precision = 0;
      const char* first = ++p;
      for (; p < end && *p >= '0' && *p <= '9'; ++p) {
        spec.precision = spec.precision * 10 + (*p - '0');
        if (spec.precision > kMaxWidth) return call_.fail("a precision that is too large");
      }
      if (p == first) return call_.fail("a format without its precision");
    }
    if (p < end) spec.type = *p++;
    if (p != end) return call_.fail("a format that is not understood");
    return Status();
  }

  Status formatted(TextBuilder& out, const Value& value, std::string_view format) {
    if (format.empty()) {
      const Status written = write_str(out, value);
      return written.ok() ? Status() : run_.fail(call_.at, written);
    }
    Spec spec;
    LLMRT_TRY(parse_spec(format, spec));
    static constexpr std::string_view kIntTypes = "bcdoxX";
    static constexpr std::string_view kRealTypes = "eEfFgG%";
    if (value.is_text()) {
      if ((spec.type && spec.type != 's') || spec.align == '=' || spec.sign != '-' ||
          spec.grouping || spec.alternate)
        return call_.fail("a format that a text does not take");
      if (spec.zero && spec.align == 0) spec.fill = '0';
      write_padded(out, spec, *value.text);
      return Status();
    }
    if (!value.is_number())
      return call_.fail(std::string("a value of type ") + type_name(value) + " takes no format");
    if (spec.precision > kMaxPrecision) return call_.fail("a precision that is too large");
    if (value.is_integral() && (spec.type == 0 || kIntTypes.find(spec.type) != kIntTypes.npos)) {
      if (spec.precision >= 0) return call_.fail("an integer takes no precision");
      if (spec.type == 'c') return call_.fail("the format 'c' is not supported");
      if (spec.type == 0) spec.type = 'd';
      write_int(out, spec, value.as_int(), value.input);
      return Status();
    }
    if (spec.type == 0) {  // as str() writes it, or general with a precision
      if (spec.precision < 0) {
        std::string digits = real_repr(std::fabs(value.as_real()));
        write_number(out, spec, std::signbit(value.as_real()), "", std::move(digits), false, 3,
                     value.input);
        return Status();
      }
      spec.type = 'g';
      std::string digits = digits_of_real(std::fabs(value.as_real()), 'g',
                                          static_cast<int>(spec.precision), spec.alternate);
      if (digits.find_first_of(".en") == digits.npos) digits += ".0";
      write_number(out, spec, std::signbit(value.as_real()), "", std::move(digits), false, 3,
                   value.input);
      return Status();
    }
    if (kRealTypes.find(spec.type) == kRealTypes.npos)
      return call_.fail("a format that a number does not take");
    write_real(out, spec, value.as_real(), value.input);
    return Status();
  }

  Call& call_;
  Evaluator& run_;
  const Text& format_;
  size_t next_ = 0;
  bool automatic_ = false;
  bool manual_ = false;
};

}  // namespace

Result<Value> format_percent(Evaluator& run, uint32_t at, const Text& format,
                             const Value& arguments) {
  return PercentFormat(run, at, format, arguments).write();
}

Result<Value> format_braces(Call& call) { return BraceFormat(call).write(); }

}  // namespace llmrt::jinja
