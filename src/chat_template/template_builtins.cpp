#include "chat_template/template_builtins.h"

#include "chat_template/template_eval.h"
#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

Status Call::fail(std::string_view sentence) const {
  return run.fail(at, phrase(name, ": ", sentence));
}

Result<Text> Call::text(size_t i) const {
  if (args[i].is(Kind::undefined)) return run.fail_undefined(at, args[i]);
  if (!args[i].is_text())
    return fail(phrase("argument ", i, " must be a text, it is of type ", type_name(args[i])));
  return *args[i].text;
}

Result<int64_t> Call::integer(size_t i, int64_t otherwise) const {
  if (!given(i)) return otherwise;
  if (args[i].is(Kind::undefined)) return run.fail_undefined(at, args[i]);
  if (!args[i].is_integral())
    return fail(phrase("argument ", i, " must be an integer, it is of type ", type_name(args[i])));
  return args[i].as_int();
}

namespace {

// --- tests

Result<Value> yes(bool b) { return Value::of_bool(b); }

template <Kind kKind>
Result<Value> is_kind(Call& call) {
  return yes(call.args[0].is(kKind));
}
Result<Value> is_defined(Call& call) { return yes(!call.args[0].is(Kind::undefined)); }
Result<Value> is_true(Call& call) {
  return yes(call.args[0].is(Kind::boolean) && call.args[0].boolean);
}
Result<Value> is_false(Call& call) {
  return yes(call.args[0].is(Kind::boolean) && !call.args[0].boolean);
}
Result<Value> is_integer(Call& call) {
  return yes(call.args[0].is(Kind::integer) || call.args[0].is(Kind::big_integer));
}
Result<Value> is_a_number(Call& call) {
  return yes(call.args[0].is_number() || call.args[0].is(Kind::big_integer));
}
Result<Value> is_iterable(Call& call) {
  Iterator items;
  return yes(Iterator::over(call.args[0], &items) || call.args[0].is(Kind::loop));
}
Result<Value> is_a_sequence(Call& call) {  // has a length and subscripts
  switch (call.args[0].kind) {
    case Kind::undefined:
    case Kind::text:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::range:
      return yes(true);
    default:
      return yes(false);
  }
}
Result<Value> is_callable(Call& call) {
  return yes(call.args[0].is(Kind::function) || call.args[0].is(Kind::undefined) ||
             call.args[0].is(Kind::loop));
}
Result<Value> is_same(Call& call) {
  const Value& a = call.args[0];
  const Value& b = call.args[1];
  if (a.kind != b.kind) return yes(false);
  if (a.is_text()) return yes(a.text == b.text || a.text->view() == b.text->view());
  if (a.is(Kind::undefined) || a.is(Kind::none)) return yes(true);
  if (a.is(Kind::boolean)) return yes(a.boolean == b.boolean);
  return yes(a.integer == b.integer);
}
Result<Value> is_escaped(Call& call) {
  (void)call;
  return yes(false);
}
Result<Value> is_in(Call& call) {
  LLMRT_ASSIGN(const bool found, call.run.contains(call.at, call.args[0], call.args[1]));
  return yes(found);
}
Result<Value> is_equal(Call& call) {
  LLMRT_ASSIGN(const bool same, call.run.equal(call.at, call.args[0], call.args[1]));
  return yes(same);
}
Result<Value> is_unequal(Call& call) {
  LLMRT_ASSIGN(const bool same, call.run.equal(call.at, call.args[0], call.args[1]));
  return yes(!same);
}
template <int kFirst, int kSecond>
Result<Value> has_order(Call& call) {
  LLMRT_ASSIGN(const int order, call.run.compare(call.at, call.args[0], call.args[1]));
  return yes(order == kFirst || order == kSecond);
}
Result<Value> remainder_is(Call& call, int64_t divisor, int64_t wanted) {
  LLMRT_ASSIGN(const Value rest,
               call.run.binary(call.at, Op::modulo, call.args[0], Value::of_int(divisor)));
  LLMRT_ASSIGN(const bool same, call.run.equal(call.at, rest, Value::of_int(wanted)));
  return yes(same);
}
Result<Value> is_odd(Call& call) { return remainder_is(call, 2, 1); }
Result<Value> is_even(Call& call) { return remainder_is(call, 2, 0); }
Result<Value> is_divisible(Call& call) {
  LLMRT_ASSIGN(const Value rest, call.run.binary(call.at, Op::modulo, call.args[0], call.args[1]));
  LLMRT_ASSIGN(const bool same, call.run.equal(call.at, rest, Value::of_int(0)));
  return yes(same);
}
Result<Value> case_test(Call& call, const char* method) {
  LLMRT_ASSIGN(const Text text, call.run.to_text(call.at, call.args[0]));
  Call inner = call;
  inner.args[0] = text_value(call.run.arena(), text);
  return find_method(inner.args[0], method)->function(inner);
}
Result<Value> test_lower(Call& call) { return case_test(call, "islower"); }
Result<Value> test_upper(Call& call) { return case_test(call, "isupper"); }
Result<Value> is_filter(Call& call) {
  return yes(call.args[0].is_text() && find_filter(call.args[0].text->view()) != nullptr);
}
Result<Value> is_test(Call& call) {
  return yes(call.args[0].is_text() && find_test(call.args[0].text->view()) != nullptr);
}

constexpr Builtin kTests[] = {
    {"!=", is_unequal, 2, {"value", "other"}},
    {"<", has_order<-1, -1>, 2, {"value", "other"}},
    {"<=", has_order<-1, 0>, 2, {"value", "other"}},
    {"==", is_equal, 2, {"value", "other"}},
    {">", has_order<1, 1>, 2, {"value", "other"}},
    {">=", has_order<1, 0>, 2, {"value", "other"}},
    {"boolean", is_kind<Kind::boolean>, 1, {"value"}},
    {"callable", is_callable, 1, {"value"}},
    {"defined", is_defined, 1, {"value"}},
    {"divisibleby", is_divisible, 2, {"value", "num"}},
    {"eq", is_equal, 2, {"value", "other"}},
    {"equalto", is_equal, 2, {"value", "other"}},
    {"escaped", is_escaped, 1, {"value"}},
    {"even", is_even, 1, {"value"}},
    {"false", is_false, 1, {"value"}},
    {"filter", is_filter, 1, {"value"}},
    {"float", is_kind<Kind::real>, 1, {"value"}},
    {"ge", has_order<1, 0>, 2, {"value", "other"}},
    {"greaterthan", has_order<1, 1>, 2, {"value", "other"}},
    {"gt", has_order<1, 1>, 2, {"value", "other"}},
    {"in", is_in, 2, {"value", "seq"}},
    {"integer", is_integer, 1, {"value"}},
    {"iterable", is_iterable, 1, {"value"}},
    {"le", has_order<-1, 0>, 2, {"value", "other"}},
    {"lessthan", has_order<-1, -1>, 2, {"value", "other"}},
    {"lower", test_lower, 1, {"value"}},
    {"lt", has_order<-1, -1>, 2, {"value", "other"}},
    {"mapping", is_kind<Kind::dict>, 1, {"value"}},
    {"ne", is_unequal, 2, {"value", "other"}},
    {"none", is_kind<Kind::none>, 1, {"value"}},
    {"number", is_a_number, 1, {"value"}},
    {"odd", is_odd, 1, {"value"}},
    {"sameas", is_same, 2, {"value", "other"}},
    {"sequence", is_a_sequence, 1, {"value"}},
    {"string", is_kind<Kind::text>, 1, {"value"}},
    {"test", is_test, 1, {"value"}},
    {"true", is_true, 1, {"value"}},
    {"undefined", is_kind<Kind::undefined>, 1, {"value"}},
    {"upper", test_upper, 1, {"value"}},
};

// --- global functions

// dict(mapping or pairs, **keywords), also what namespace() takes.
Result<Dict*> make_dict(Call& call) {
  Dict* dict = call.run.arena().make<Dict>();
  if (call.rest.size() > 1) return call.fail("takes at most one positional argument");
  if (call.rest.size() == 1 && call.rest[0].is(Kind::dict)) {
    const Dict& from = *call.rest[0].dict;
    LLMRT_TRY(call.run.charge(call.at, from.size));
    for (uint32_t i = 0; i < from.size; ++i)
      dict->set(call.run.arena(), from.entries[i].key, from.entries[i].value);
  } else if (call.rest.size() == 1) {
    LLMRT_ASSIGN(const List* pairs, call.run.collect(call.at, call.rest[0]));
    for (const Value& pair : *pairs) {
      LLMRT_ASSIGN(const List* two, call.run.collect(call.at, pair));
      if (two->size != 2) return call.fail("takes pairs of key and value");
      if (!is_hashable(two->items[0])) return call.fail("a list or dict cannot be a key");
      dict->set(call.run.arena(), two->items[0], two->items[1]);
    }
  }
  for (const NamedValue& named : call.named)
    dict->set(call.run.arena(), Value::of_text(named.name), named.value);
  return dict;
}
Result<Value> global_dict(Call& call) {
  LLMRT_ASSIGN(Dict * dict, make_dict(call));
  return Value::of_dict(dict);
}
Result<Value> global_namespace(Call& call) {
  LLMRT_ASSIGN(Dict * dict, make_dict(call));
  return Value::of_dict(dict, Kind::name_space);
}

Result<Value> global_range(Call& call) {
  const bool one = !call.given(1);
  LLMRT_ASSIGN(const int64_t first, call.integer(0, 0));
  LLMRT_ASSIGN(const int64_t second, call.integer(1, 0));
  LLMRT_ASSIGN(const int64_t step, call.integer(2, 1));
  if (step == 0) return call.fail("the step cannot be zero");
  Range* range = call.run.arena().make<Range>();
  range->start = one ? 0 : first;
  range->stop = one ? first : second;
  range->step = step;
  const bool empty = step > 0 ? range->stop <= range->start : range->stop >= range->start;
  if (!empty) {
    const uint64_t distance =
        step > 0 ? static_cast<uint64_t>(range->stop) - static_cast<uint64_t>(range->start)
                 : static_cast<uint64_t>(range->start) - static_cast<uint64_t>(range->stop);
    const uint64_t by = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
    const uint64_t n = (distance - 1) / by + 1;
    if (n > static_cast<uint64_t>(kMaxRange)) return call.fail("more than 100000 numbers");
    range->size = static_cast<int64_t>(n);
  }
  Value value;
  value.kind = Kind::range;
  value.range = range;
  return value;
}

Result<Value> global_raise_exception(Call& call) {
  LLMRT_ASSIGN(const Text message, call.run.to_text(call.at, call.args[0]));
  return call.run.fail_raised(call.at, message.view());
}

constexpr Builtin kGlobals[] = {
    {"dict", global_dict, 0, {}, true},
    {"namespace", global_namespace, 0, {}, true},
    {"raise_exception", global_raise_exception, 1, {"message"}},
    {"range", global_range, 1, {"start", "stop", "step"}},
    {"strftime_now", strftime_now, 1, {"format"}},
};

// --- methods of the loop variable

Result<Value> cycle(Call& call) {
  if (call.rest.empty()) return call.fail("takes at least one value");
  return call.rest[static_cast<size_t>(call.args[0].loop->index0) % call.rest.size()];
}

Result<Value> changed(Call& call) {
  List* now = call.run.arena().make<List>();
  for (const Value& v : call.rest) now->push(call.run.arena(), v);
  const Value values = Value::of_list(now, Kind::tuple);
  Value& last = call.args[0].loop->last_changed;
  bool same = false;
  if (!last.is(Kind::unbound)) {
    LLMRT_ASSIGN(same, call.run.equal(call.at, last, values));
  }
  if (!same) last = values;
  return Value::of_bool(!same);
}

constexpr Builtin kCycle = {"cycle", cycle, 1, {"self"}, true};
constexpr Builtin kChanged = {"changed", changed, 1, {"self"}, true};

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) {
  for (const Builtin& builtin : table)
    if (name == builtin.name) return &builtin;
  return nullptr;
}

}  // namespace

const Builtin* find_filter(std::string_view name) {
  for (const auto table :
       {list_filter_table(), order_filter_table(), filter_table(), number_filter_table()})
    if (const Builtin* found = find_in(table, name)) return found;
  return nullptr;
}
const Builtin* find_test(std::string_view name) { return find_in(kTests, name); }
const Builtin* find_method(const Value& object, std::string_view name) {
  switch (object.kind) {
    case Kind::text: {
      const Builtin* found = find_in(text_method_table(), name);
      return found ? found : find_in(case_method_table(), name);
    }
    case Kind::list:
      return find_in(list_method_table(), name);
    case Kind::tuple:
      return find_in(tuple_method_table(), name);
    case Kind::dict:
      return find_in(dict_method_table(), name);
    default:
      return nullptr;
  }
}
bool is_method_name(std::string_view name) {
  return find_in(text_method_table(), name) || find_in(case_method_table(), name) ||
         find_in(list_method_table(), name) || find_in(dict_method_table(), name);
}
const Builtin& loop_cycle() { return kCycle; }
const Builtin& loop_changed() { return kChanged; }
std::span<const Builtin> global_table() { return kGlobals; }

}  // namespace llmrt::jinja
