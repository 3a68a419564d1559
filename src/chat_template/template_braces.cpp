// "{}".format(values). The format's bytes keep their origin, so do text values.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"
#include "chat_template/template_format.h"
#include "chat_template/template_text.h"
#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

namespace {

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

  Status parse_spec(std::string_view s, FormatSpec& spec) {
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
    FormatSpec spec;
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
      return call_.fail(phrase("a value of type ", type_name(value), " takes no format"));
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

Result<Value> format_braces(Call& call) { return BraceFormat(call).write(); }

}  // namespace llmrt::jinja
