// Filters that make or change numbers.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"
#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

namespace {

// Python's int() and float() of a text: blanks around it, single underscores between digits.
bool plain_digits(std::string_view s, std::string* out) {
  s = strip_space_right(strip_space_left(s));
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '_') {
      *out += s[i];
      continue;
    }
    const auto alnum = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    };
    if (i == 0 || i + 1 == s.size() || !alnum(s[i - 1]) || !alnum(s[i + 1])) return false;
  }
  return !out->empty();
}

bool parse_real(std::string_view s, double* out) {
  std::string digits;
  if (!plain_digits(s, &digits)) return false;
  std::string_view d = digits;
  const bool negative = d[0] == '-';
  if (d[0] == '+' || d[0] == '-') d = d.substr(1);
  if (d.empty() || d[0] == '-' || d[0] == '+') return false;
  const auto [p, ec] = std::from_chars(d.data(), d.data() + d.size(), *out);
  if (p != d.data() + d.size()) return false;
  if (ec == std::errc::result_out_of_range) {  // too large is infinite, too small is zero
    const size_t e = d.find_first_of("eE");
    *out = e != d.npos && d.substr(e).find('-') != d.npos ? 0.0 : HUGE_VAL;
  } else if (ec != std::errc()) {
    return false;
  }
  if (negative) *out = -*out;
  return true;
}

bool parse_int(std::string_view s, int64_t base, int64_t* out, bool* too_large) {
  std::string digits;
  if (!plain_digits(s, &digits)) return false;
  std::string_view d = digits;
  const bool negative = d[0] == '-';
  if (d[0] == '+' || d[0] == '-') d = d.substr(1);
  if (d.size() > 2 && d[0] == '0') {
    const char x = static_cast<char>(d[1] | 0x20);
    const int64_t marked = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 0;
    if (marked && (base == marked || base == 0)) {
      d = d.substr(2);
      base = marked;
    }
  }
  if (base == 0) base = 10;
  if (d.empty() || d[0] == '-' || d[0] == '+' || base < 2 || base > 36) return false;
  std::string signed_digits(d);
  if (negative) signed_digits.insert(signed_digits.begin(), '-');
  const char* end = signed_digits.data() + signed_digits.size();
  const auto [p, ec] = std::from_chars(signed_digits.data(), end, *out, static_cast<int>(base));
  if (p != end) return false;
  *too_large = ec == std::errc::result_out_of_range;
  return ec == std::errc() || *too_large;
}

Result<Value> int_of_real(Call& call, double d) {
  if (!(std::fabs(d) < 9.2e18)) return call.fail("an integer beyond 64 bits");
  return Value::of_int(static_cast<int64_t>(d));
}

Result<Value> filter_int(Call& call) {
  const Value v = call.args[0];
  LLMRT_ASSIGN(const int64_t base, call.integer(2, 10));
  const Value otherwise = call.given(1) ? call.args[1] : Value::of_int(0);
  Value result;
  if (v.is_integral()) {
    result = Value::of_int(v.as_int());
  } else if (v.is(Kind::big_integer)) {
    return v;
  } else if (v.is(Kind::real)) {
    if (!std::isfinite(v.real)) return otherwise;
    LLMRT_ASSIGN(result, int_of_real(call, v.real));
  } else if (v.is_text()) {
    int64_t i = 0;
    double d = 0;
    bool too_large = false;
    if (parse_int(v.text->view(), base, &i, &too_large)) {
      if (too_large) return call.fail("an integer beyond 64 bits");
      result = Value::of_int(i);
    } else if (parse_real(v.text->view(), &d) && std::isfinite(d)) {
      LLMRT_ASSIGN(result, int_of_real(call, d));
    } else {
      return otherwise;
    }
    result.input = v.text->any_input();
    return result;
  } else if (v.is(Kind::undefined)) {
    return call.run.fail_undefined(call.at, v);
  } else {
    return otherwise;
  }
  result.input = v.input;
  return result;
}

Result<Value> filter_float(Call& call) {
  const Value v = call.args[0];
  Value result = call.given(1) ? call.args[1] : Value::of_real(0);
  double d = 0;
  if (v.is_number()) {
    result = Value::of_real(v.as_real());
    result.input = v.input;
  } else if ((v.is_text() || v.is(Kind::big_integer)) && parse_real(v.text->view(), &d)) {
    result = Value::of_real(d);
    result.input = v.text->any_input();
  } else if (v.is(Kind::undefined)) {
    return call.run.fail_undefined(call.at, v);
  }
  return result;
}

Result<Value> filter_abs(Call& call) {
  Value v = call.args[0];
  if (!v.is_number()) return call.fail(phrase("takes a number, this is of type ", type_name(v)));
  if (v.is(Kind::real)) {
    v.real = std::fabs(v.real);
    return v;
  }
  if (v.as_int() == INT64_MIN) return call.fail("an integer result beyond 64 bits");
  Value result = Value::of_int(std::abs(v.as_int()));
  result.input = v.input;
  return result;
}

// Correctly rounded to n decimals, as CPython does by way of decimal digits.
double round_decimals(double d, int64_t n) {
  if (!std::isfinite(d) || n > 300) return d;
  if (n < 0) {
    if (n < -308) return std::copysign(0.0, d);
    const double scale = std::pow(10.0, static_cast<double>(-n));
    return std::nearbyint(d / scale) * scale;
  }
  char buffer[700];
  const auto done = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed,
                                  static_cast<int>(n));
  double rounded = d;
  std::from_chars(buffer, done.ptr, rounded);
  return rounded;
}

Result<Value> filter_round(Call& call) {
  const Value v = call.args[0];
  LLMRT_ASSIGN(const int64_t n, call.integer(1, 0));
  std::string_view method = "common";
  if (call.given(2)) {
    LLMRT_ASSIGN(const Text name, call.text(2));
    method = name.view();
  }
  if (method != "common" && method != "ceil" && method != "floor")
    return call.fail("the method is common, ceil or floor");
  if (v.is(Kind::undefined)) return call.run.fail_undefined(call.at, v);
  if (!v.is_number()) return call.fail(phrase("takes a number, this is of type ", type_name(v)));
  Value result;
  if (method == "common") {
    if (v.is_integral() && n >= 0) {
      result = Value::of_int(v.as_int());
    } else if (v.is_integral()) {
      LLMRT_ASSIGN(result, int_of_real(call, round_decimals(v.as_real(), n)));
    } else {
      result = Value::of_real(round_decimals(v.real, n));
    }
  } else {
    const double scale = std::pow(10.0, static_cast<double>(n));
    const double scaled = v.as_real() * scale;
    if (!std::isfinite(scaled) || scale == 0) return call.fail("a result out of range");
    result = Value::of_real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
  }
  result.input = v.input;
  return result;
}

constexpr Builtin kNumberFilters[] = {
    {"abs", filter_abs, 1, {"x"}},
    {"float", filter_float, 1, {"value", "default"}},
    {"int", filter_int, 1, {"value", "default", "base"}},
    {"round", filter_round, 1, {"value", "precision", "method"}},
};

}  // namespace

std::span<const Builtin> number_filter_table() { return kNumberFilters; }

}  // namespace llmrt::jinja
