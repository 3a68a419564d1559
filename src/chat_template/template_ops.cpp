// Operators of the evaluator, with Python's meaning.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "chat_template/template_eval.h"
#include "chat_template/template_text.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

Status Evaluator::fail_undefined(uint32_t at, const Value& value) const {
  if (!value.text) return fail(at, "a value here is undefined");
  const std::string_view what = value.text->view();
  if (what.find(' ') != what.npos) return fail(at, what);
  return fail(at, phrase("'", utf8_head(what, 60), "' is undefined"));
}

// --- texts

Result<Text> Evaluator::to_text(uint32_t at, const Value& value) {
  if (value.is_text()) return *value.text;
  if (value.is(Kind::undefined)) return Text();
  TextBuilder out = builder();
  const Status written = write_str(out, value);
  if (!written.ok()) return fail(at, written);
  LLMRT_ASSIGN(const Value text, finish(at, out));
  return *text.text;
}

Result<Value> Evaluator::join(uint32_t at, std::span<const Text> parts) {
  uint64_t size = 0;
  bool uniform = true;
  const Text* first = nullptr;  // the first that is not empty
  for (const Text& t : parts) {
    size += t.size;
    if (t.size == 0) continue;
    if (!first) first = &t;
    uniform = uniform && !t.origin && t.input == first->input && !first->origin;
  }
  LLMRT_TRY(room_for(at, size * 2));
  LLMRT_TRY(charge(at, size / 256));
  char* data = static_cast<char*>(arena_.take(static_cast<size_t>(uniform ? size : size * 2)));
  auto* origin = uniform ? nullptr : reinterpret_cast<uint8_t*>(data + size);
  size_t n = 0;
  for (const Text& t : parts) {
    if (t.size == 0) continue;
    std::memcpy(data + n, t.data, t.size);
    if (origin && t.origin) std::memcpy(origin + n, t.origin, t.size);
    if (origin && !t.origin) std::memset(origin + n, t.input ? 1 : 0, t.size);
    n += t.size;
  }
  return text_value(arena_, {data, origin, static_cast<uint32_t>(size), first && first->input});
}

// --- comparison

Result<bool> Evaluator::equal(uint32_t at, const Value& a, const Value& b) {
  Comparison comparison;
  const bool is_equal = comparison.equal(a, b);
  LLMRT_TRY(charge(at, comparison.work() / 4));
  if (comparison.exhausted()) return fail(at, "values too large or too deep to compare");
  return is_equal;
}

Result<int> Evaluator::compare(uint32_t at, const Value& a, const Value& b) {
  if (a.is(Kind::undefined)) return fail_undefined(at, a);
  if (b.is(Kind::undefined)) return fail_undefined(at, b);
  Comparison comparison;
  const int order = comparison.compare(a, b);
  LLMRT_TRY(charge(at, comparison.work() / 4));
  if (comparison.exhausted()) return fail(at, "values too large or too deep to compare");
  if (order == Comparison::kUnordered)
    return fail(at,
                phrase("values of types ", type_name(a), " and ", type_name(b), " have no order"));
  return order;
}

Result<bool> Evaluator::contains(uint32_t at, const Value& needle, const Value& haystack) {
  switch (haystack.kind) {
    case Kind::text: {
      if (needle.is(Kind::undefined)) return fail_undefined(at, needle);
      if (!needle.is_text())
        return fail(at, phrase("a value of type ", type_name(needle), " cannot be in a text"));
      LLMRT_TRY(charge(at, haystack.text->size / 64));
      return haystack.text->view().find(needle.text->view()) != std::string_view::npos;
    }
    case Kind::dict:
      if (!is_hashable(needle))
        return fail(at, phrase("a value of type ", type_name(needle), " cannot be a key"));
      return haystack.dict->find(needle) != nullptr;
    default:
      break;
  }
  Iterator items;
  if (!Iterator::over(haystack, &items))
    return fail(at, phrase("'in' needs a container, this is of type ", type_name(haystack)));
  Value item;
  while (items.next(arena_, &item)) {
    LLMRT_TRY(charge(at, 1));
    LLMRT_ASSIGN(const bool found, equal(at, item, needle));
    if (found) return true;
  }
  return false;
}

Result<bool> Evaluator::relation(uint32_t at, Op op, const Value& a, const Value& b) {
  if (op == Op::eq || op == Op::ne) {
    LLMRT_ASSIGN(const bool is_equal, equal(at, a, b));
    return is_equal == (op == Op::eq);
  }
  if (op == Op::in || op == Op::not_in) {
    LLMRT_ASSIGN(const bool found, contains(at, a, b));
    return found == (op == Op::in);
  }
  LLMRT_ASSIGN(const int order, compare(at, a, b));
  if (order == Comparison::kNaN) return false;
  switch (op) {
    case Op::lt:
      return order < 0;
    case Op::le:
      return order <= 0;
    case Op::gt:
      return order > 0;
    default:
      return order >= 0;
  }
}

// --- arithmetic

Result<Value> Evaluator::binary(uint32_t at, Op op, const Value& a, const Value& b) {
  LLMRT_TRY(charge(at, 1));
  if (a.is(Kind::undefined)) return fail_undefined(at, a);
  if (op == Op::modulo && a.is_text()) return format_percent(*this, at, *a.text, b);
  if (b.is(Kind::undefined)) return fail_undefined(at, b);
  if (a.is_number() && b.is_number()) {
    LLMRT_ASSIGN(Value result, arithmetic(at, op, a, b));
    result.input = a.input || b.input;
    return result;
  }
  if (op == Op::add) return add(at, a, b);
  if (op == Op::multiply) {
    if (b.is_integral() && (a.is_text() || a.is_sequence())) return repeat(at, a, b.as_int());
    if (a.is_integral() && (b.is_text() || b.is_sequence())) return repeat(at, b, a.as_int());
  }
  static constexpr const char* kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};
  return fail(at, phrase("'", kSigns[static_cast<size_t>(op)], "' cannot take values of types ",
                         type_name(a), " and ", type_name(b)));
}

Result<Value> Evaluator::add(uint32_t at, const Value& a, const Value& b) {
  if (a.is_text() && b.is_text()) {
    const Text parts[] = {*a.text, *b.text};
    return join(at, parts);
  }
  if (!a.is_sequence() || a.kind != b.kind)
    return fail(at,
                phrase("'+' cannot take values of types ", type_name(a), " and ", type_name(b)));
  LLMRT_TRY(room_for(at, (uint64_t{a.list->size} + b.list->size) * 2 * sizeof(Value)));
  LLMRT_TRY(charge(at, (uint64_t{a.list->size} + b.list->size) / 16));
  List* sum = arena_.make<List>();
  for (const Value& item : *a.list) sum->push(arena_, item);
  for (const Value& item : *b.list) sum->push(arena_, item);
  return Value::of_list(sum, a.kind);
}

Result<Value> Evaluator::repeat(uint32_t at, const Value& sequence, int64_t times) {
  times = std::max<int64_t>(times, 0);
  const uint64_t size =
      sequence.is_text() ? sequence.text->size : uint64_t{sequence.list->size} * 2 * sizeof(Value);
  if (size > 0 && static_cast<uint64_t>(times) > kMaxTextSize / size)
    return fail(at, "the template makes a value that is too long");
  const uint64_t total = size * static_cast<uint64_t>(times);
  LLMRT_TRY(room_for(at, total * 2));
  LLMRT_TRY(charge(at, total / 64));
  if (size == 0) times = 0;
  if (sequence.is_text()) {
    TextBuilder out = builder();
    for (int64_t i = 0; i < times; ++i) out.append(*sequence.text);
    return finish(at, out);
  }
  List* list = arena_.make<List>();
  for (int64_t i = 0; i < times; ++i)
    for (const Value& item : *sequence.list) list->push(arena_, item);
  return Value::of_list(list, sequence.kind);
}

Result<Value> Evaluator::arithmetic(uint32_t at, Op op, const Value& a, const Value& b) {
  if (op == Op::divide) {
    if (b.as_real() == 0) return fail(at, "division by zero");
    return Value::of_real(a.as_real() / b.as_real());
  }
  if (a.is_integral() && b.is_integral() && !(op == Op::power && b.as_int() < 0))
    return integer_arithmetic(at, op, a.as_int(), b.as_int());
  const double x = a.as_real();
  const double y = b.as_real();
  switch (op) {
    case Op::add:
      return Value::of_real(x + y);
    case Op::subtract:
      return Value::of_real(x - y);
    case Op::multiply:
      return Value::of_real(x * y);
    case Op::floor_divide:
    case Op::modulo: {
      if (y == 0) return fail(at, "division by zero");
      double rest = std::fmod(x, y);
      double quotient = (x - rest) / y;
      if (rest != 0 && (rest < 0) != (y < 0)) {
        rest += y;
        quotient -= 1;
      } else if (rest == 0) {
        rest = std::copysign(0.0, y);
      }
      if (op == Op::modulo) return Value::of_real(rest);
      if (quotient == 0) return Value::of_real(std::copysign(0.0, x / y));
      const double down = std::floor(quotient);
      return Value::of_real(quotient - down > 0.5 ? down + 1 : down);
    }
    default:
      break;
  }
  if (x == 0 && y < 0) return fail(at, "zero to a negative power");
  if (x < 0 && y != std::floor(y)) return fail(at, "a negative number to a fractional power");
  const double power = std::pow(x, y);
  if (std::isinf(power) && std::isfinite(x) && std::isfinite(y))
    return fail(at, "a result out of range");
  return Value::of_real(power);
}

Result<Value> Evaluator::integer_arithmetic(uint32_t at, Op op, int64_t a, int64_t b) {
  int64_t r = 0;
  bool overflow = false;
  switch (op) {
    case Op::add:
      overflow = __builtin_add_overflow(a, b, &r);
      break;
    case Op::subtract:
      overflow = __builtin_sub_overflow(a, b, &r);
      break;
    case Op::multiply:
      overflow = __builtin_mul_overflow(a, b, &r);
      break;
    case Op::floor_divide:
    case Op::modulo: {
      if (b == 0) return fail(at, "division by zero");
      if (b == -1) {  // the one quotient that does not fit is INT64_MIN / -1
        overflow = op == Op::floor_divide && __builtin_sub_overflow(int64_t{0}, a, &r);
        break;
      }
      const int64_t rest = a % b;
      const bool adjust = rest != 0 && (rest < 0) != (b < 0);
      r = op == Op::modulo ? (adjust ? rest + b : rest) : a / b - (adjust ? 1 : 0);
      break;
    }
    default: {  // power, b >= 0
      r = 1;
      while (b > 0 && !overflow) {
        if (b & 1) overflow = __builtin_mul_overflow(r, a, &r);
        b >>= 1;
        if (b > 0 && !overflow) overflow = __builtin_mul_overflow(a, a, &a);
      }
    }
  }
  if (overflow) return fail(at, "an integer result beyond 64 bits");
  return Value::of_int(r);
}

}  // namespace llmrt::jinja
