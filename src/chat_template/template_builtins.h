// The named things of the language: filters, tests, methods of texts, lists and dicts, global functions.
//
// One row each: name, parameters in order (the value a filter or test is applied to, or the object of a method, is the first),
// how many of them are required, and the function. Arguments are bound as Python binds them before the function runs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "chat_template/template_value.h"

namespace llmrt::jinja {

class Evaluator;
struct NamedValue;

inline constexpr size_t kMaxParameters = 6;

struct Call {
  Evaluator& run;
  uint32_t at;  // for messages
  const char* name;
  std::array<Value, kMaxParameters> args;  // unbound: not given
  // of a variadic builtin: the positional arguments past the parameters
  std::span<const Value> rest;
  std::span<const NamedValue> named;  // of a variadic builtin: the keywords that are no parameter

  bool given(size_t i) const { return args[i].kind != Kind::unbound; }
  bool flag(size_t i, bool otherwise) const { return given(i) ? truthy(args[i]) : otherwise; }
  // "tojson: sentence", at the call's place.
  Status fail(std::string_view sentence) const;
  // A text or an integer argument, or a failure that names the parameter's place.
  Result<Text> text(size_t i) const;
  Result<int64_t> integer(size_t i, int64_t otherwise) const;
};

struct Builtin {
  const char* name;
  Result<Value> (*function)(Call& call);  // nullptr: the attribute exists, calling it is refused
  uint8_t n_required;
  std::array<const char*, kMaxParameters> parameters;
  bool variadic = false;
};

const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
// A method of the value's type; nullptr: it has none of that name.
const Builtin* find_method(const Value& object, std::string_view name);
bool is_method_name(std::string_view name);  // of any type
const Builtin& loop_cycle();
const Builtin& loop_changed();

std::span<const Builtin> filter_table();  // of texts, and conversions
std::span<const Builtin> number_filter_table();
std::span<const Builtin> list_filter_table();
std::span<const Builtin> order_filter_table();
std::span<const Builtin> text_method_table();
std::span<const Builtin> case_method_table();
std::span<const Builtin> list_method_table();
std::span<const Builtin> tuple_method_table();
std::span<const Builtin> dict_method_table();
std::span<const Builtin> global_table();

// str.format and the % operator (template_format.cpp).
Result<Value> format_percent(Evaluator& run, uint32_t at, const Text& format,
                             const Value& arguments);
Result<Value> format_braces(Call& call);
// datetime.strftime of the clock, or of the fixed time (template_time.cpp).
Result<Value> strftime_now(Call& call);
// JSON text to a value (template_json.h) as a filter.
Result<Value> filter_from_json(Call& call);

// What methods of texts and filters share.
inline const Text& self_text(const Call& call) { return *call.args[0].text; }
Result<Value> give(Call& call, const Text& text);
Status charge_text(Call& call, const Text& text);           // for reading all of it
Result<Value> cased(Call& call, const Text& text, int to);  // 0 lower, 1 upper
Result<Value> strip(Call& call, const Text& text, const Value& characters, bool left, bool right);
Result<Value> replace(Call& call, const Text& text, const Text& old_text, const Text& new_text,
                      int64_t count);

}  // namespace llmrt::jinja
