// Python's == and < over values.
#include <algorithm>
#include <cmath>

#include "chat_template/template_value.h"

namespace llmrt::jinja {

namespace {

// Exact, unlike a conversion of the integer to double.
int compare_int_real(int64_t i, double d) {
  if (std::isnan(d)) return Comparison::kNaN;
  if (d >= 9223372036854775808.0) return -1;
  if (d < -9223372036854775808.0) return 1;
  const auto whole = static_cast<int64_t>(d);  // towards zero
  if (i != whole) return i < whole ? -1 : 1;
  const double rest = d - static_cast<double>(whole);
  return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

int compare_numbers(const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral())
    return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int() ? 1 : 0;
  if (a.is_integral()) return compare_int_real(a.as_int(), b.real);
  if (b.is_integral()) {
    const int c = compare_int_real(b.as_int(), a.real);
    return c == Comparison::kNaN ? Comparison::kNaN : -c;
  }
  if (std::isnan(a.real) || std::isnan(b.real)) return Comparison::kNaN;
  return a.real < b.real ? -1 : a.real > b.real ? 1 : 0;
}

}  // namespace

bool Comparison::equal_lists(const List& a, const List& b, uint32_t depth) {
  if (a.size != b.size) return false;
  for (uint32_t i = 0; i < a.size; ++i)
    if (!equal(a.items[i], b.items[i], depth + 1)) return false;
  return true;
}

bool Comparison::equal_dicts(const Dict& a, const Dict& b, uint32_t depth) {
  if (a.size != b.size) return false;
  for (uint32_t i = 0; i < a.size; ++i) {
    const Value* other = b.find(a.entries[i].key);
    if (!other || !equal(a.entries[i].value, *other, depth + 1)) return false;
  }
  return true;
}

bool Comparison::equal(const Value& a, const Value& b, uint32_t depth) {
  if (depth > kMaxDepth) work_ = kMaxWork + 1;
  if (++work_ > kMaxWork) return false;
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::unbound:
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::text:
    case Kind::big_integer:
      if (a.text->size == b.text->size) work_ += a.text->size / 64;
      return a.text->view() == b.text->view();
    case Kind::list:
    case Kind::tuple:
      return a.list == b.list || equal_lists(*a.list, *b.list, depth);
    case Kind::dict:
      return a.dict == b.dict || equal_dicts(*a.dict, *b.dict, depth);
    case Kind::range:
      return a.range->size == b.range->size &&
             (a.range->size == 0 || (a.range->start == b.range->start &&
                                     (a.range->size == 1 || a.range->step == b.range->step)));
    default:
      return a.integer == b.integer;  // identity
  }
}

int Comparison::compare(const Value& a, const Value& b, uint32_t depth) {
  if (depth > kMaxDepth) work_ = kMaxWork + 1;
  if (++work_ > kMaxWork) return kUnordered;
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.is_text() && b.is_text()) {  // UTF-8 orders as code points do
    work_ += std::min(a.text->size, b.text->size) / 64;
    const int c = a.text->view().compare(b.text->view());
    return c < 0 ? -1 : c > 0 ? 1 : 0;
  }
  if (!a.is_sequence() || a.kind != b.kind) return kUnordered;
  const List& x = *a.list;
  const List& y = *b.list;
  for (uint32_t i = 0; i < x.size && i < y.size; ++i)
    if (!equal(x.items[i], y.items[i], depth + 1))
      return compare(x.items[i], y.items[i], depth + 1);
  return x.size < y.size ? -1 : x.size > y.size ? 1 : 0;
}

}  // namespace llmrt::jinja
