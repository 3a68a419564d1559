// Methods of lists, tuples and dicts.
#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"

namespace llmrt::jinja {

namespace {

Result<Value> list_count(Call& call) {
  int64_t n = 0;
  for (const Value& item : *call.args[0].list) {
    LLMRT_ASSIGN(const bool same, call.run.equal(call.at, item, call.args[1]));
    n += same ? 1 : 0;
  }
  return Value::of_int(n);
}

Result<Value> list_index(Call& call) {
  const List& list = *call.args[0].list;
  for (uint32_t i = 0; i < list.size; ++i) {
    LLMRT_ASSIGN(const bool same, call.run.equal(call.at, list.items[i], call.args[1]));
    if (same) return Value::of_int(i);
  }
  return call.fail("the value is not in the list");
}

Result<Value> list_append(Call& call) {
  call.args[0].list->push(call.run.arena(), call.args[1]);
  return Value::of_none();
}

Result<Value> list_pop(Call& call) {
  List& list = *call.args[0].list;
  LLMRT_ASSIGN(int64_t i, call.integer(1, -1));
  if (i < 0) i += list.size;
  if (i < 0 || i >= list.size) return call.fail("index out of range");
  const Value item = list.items[i];
  LLMRT_TRY(call.run.charge(call.at, (list.size - static_cast<uint64_t>(i)) / 16));
  std::move(list.items + i + 1, list.items + list.size, list.items + i);
  --list.size;
  return item;
}

Result<Value> list_copy(Call& call) {
  LLMRT_ASSIGN(List * copy, call.run.collect(call.at, call.args[0]));
  return Value::of_list(copy);
}

Result<Value> dict_get(Call& call) {
  if (!is_hashable(call.args[1])) return call.fail("a list or dict cannot be a key");
  if (const Value* value = call.args[0].dict->find(call.args[1])) return *value;
  return call.given(2) ? call.args[2] : Value::of_none();
}

Result<Value> view(Call& call, DictView::What what) {
  DictView* v = call.run.arena().make<DictView>();
  v->what = what;
  v->dict = call.args[0].dict;
  Value value;
  value.kind = Kind::dict_view;
  value.view = v;
  return value;
}
Result<Value> dict_keys(Call& call) { return view(call, DictView::What::keys); }
Result<Value> dict_values(Call& call) { return view(call, DictView::What::values); }
Result<Value> dict_items(Call& call) { return view(call, DictView::What::items); }

Result<Value> dict_pop(Call& call) {
  if (!is_hashable(call.args[1])) return call.fail("a list or dict cannot be a key");
  Dict& dict = *call.args[0].dict;
  LLMRT_TRY(call.run.charge(call.at, dict.size / 4));
  Value value;
  if (dict.remove(call.run.arena(), call.args[1], &value)) return value;
  if (call.given(2)) return call.args[2];
  return call.fail("the key is not in the dict");
}

Result<Value> dict_copy(Call& call) {
  const Dict& dict = *call.args[0].dict;
  LLMRT_TRY(call.run.room_for(call.at, uint64_t{dict.size} * 4 * sizeof(Dict::Entry)));
  LLMRT_TRY(call.run.charge(call.at, dict.size));
  Dict* copy = call.run.arena().make<Dict>();
  for (uint32_t i = 0; i < dict.size; ++i)
    copy->set(call.run.arena(), dict.entries[i].key, dict.entries[i].value);
  return Value::of_dict(copy);
}

// append and pop change what they are called on, which jinja2's sandbox forbids; templates written for other engines use them.
constexpr Builtin kListMethods[] = {
    {"append", list_append, 2, {"self", "object"}},
    {"clear", nullptr, 0, {}},
    {"copy", list_copy, 1, {"self"}},
    {"count", list_count, 2, {"self", "value"}},
    {"extend", nullptr, 0, {}},
    {"index", list_index, 2, {"self", "value"}},
    {"insert", nullptr, 0, {}},
    {"pop", list_pop, 1, {"self", "index"}},
    {"remove", nullptr, 0, {}},
    {"reverse", nullptr, 0, {}},
    {"sort", nullptr, 0, {}},
};
constexpr Builtin kTupleMethods[] = {
    {"count", list_count, 2, {"self", "value"}},
    {"index", list_index, 2, {"self", "value"}},
};
constexpr Builtin kDictMethods[] = {
    {"clear", nullptr, 0, {}},
    {"copy", dict_copy, 1, {"self"}},
    {"fromkeys", nullptr, 0, {}},
    {"get", dict_get, 2, {"self", "key", "default"}},
    {"items", dict_items, 1, {"self"}},
    {"keys", dict_keys, 1, {"self"}},
    {"pop", dict_pop, 2, {"self", "key", "default"}},
    {"popitem", nullptr, 0, {}},
    {"setdefault", nullptr, 0, {}},
    {"update", nullptr, 0, {}},
    {"values", dict_values, 1, {"self"}},
};

}  // namespace

std::span<const Builtin> list_method_table() { return kListMethods; }
std::span<const Builtin> tuple_method_table() { return kTupleMethods; }
std::span<const Builtin> dict_method_table() { return kDictMethods; }

}  // namespace llmrt::jinja
