// "%s" % values. The format's bytes keep their origin, so do text values.
#include <algorithm>
#include <cmath>

#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"
#include "chat_template/template_format.h"
#include "chat_template/template_text.h"
#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

namespace {

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
    // As CPython: what can be subscripted (but a tuple or text) may be left unused.
    const bool subscriptable = arguments_.is(Kind::dict) || arguments_.is(Kind::list) ||
                               arguments_.is(Kind::range) || arguments_.is(Kind::undefined);
    const bool all_used = arguments_.is(Kind::tuple) ? next_ >= arguments_.list->size
                                                     : next_ > 0 || by_key_ || subscriptable;
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
    FormatSpec spec;
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

  Status value(TextBuilder& out, FormatSpec& spec, bool left, const Value& v) {
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
          return run_.fail(at_, phrase("%", spec.type, " takes a number, not ", type_name(v)));
        if (spec.precision > kMaxPrecision) return run_.fail(at_, "a precision that is too large");
        write_real(out, spec, v.as_real(), v.input);
        return Status();
      default:
        return run_.fail(at_, "a format character that is not supported");
    }
  }

  Status integer(TextBuilder& out, FormatSpec& spec, const Value& v) {
    int64_t n = 0;
    const bool decimal = spec.type == 'd' || spec.type == 'i' || spec.type == 'u';
    if (v.is_integral()) {
      n = v.as_int();
    } else if (v.is(Kind::real) && decimal && std::fabs(v.real) < 9.2e18) {
      n = static_cast<int64_t>(v.real);
    } else {
      return run_.fail(at_, phrase("%", spec.type, " takes an integer, not ", type_name(v)));
    }
    if (decimal) spec.type = 'd';
    if (spec.precision >= 0) {  // leading zeros up to the precision
      if (spec.precision > kMaxPrecision) return run_.fail(at_, "a precision that is too large");
      TextBuilder digits = run_.builder();
      FormatSpec inner = spec;
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

}  // namespace

Result<Value> format_percent(Evaluator& run, uint32_t at, const Text& format,
                             const Value& arguments) {
  return PercentFormat(run, at, format, arguments).write();
}

}  // namespace llmrt::jinja
