// Filters that compare items: sorting, grouping, extremes.
#include <algorithm>
#include <utility>
#include <vector>

#include "chat_template/template_eval.h"
#include "chat_template/template_list_filters.h"

namespace llmrt::jinja {

namespace {

// What sorting and comparing see: texts in lower case unless case matters.
Result<Value> comparable(Call& call, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.is_text()) return value;
  return cased(call, *value.text, 0);
}

struct Keyed {
  Value item;
  std::vector<Value> keys;
};

// Stable; stops comparing at the first pair that has no order.
Status sort_keyed(Call& call, std::vector<Keyed>& items, bool reverse) {
  Status failure;
  const auto before = [&](const Keyed& a, const Keyed& b) {
    for (size_t i = 0; i < a.keys.size() && failure.ok(); ++i) {
      Result<int> order = call.run.compare(call.at, a.keys[i], b.keys[i]);
      if (!order.ok()) {
        failure = std::move(order).status();
      } else if (*order != 0) {
        return *order == -1;
      }
    }
    return false;
  };
  if (reverse) {  // keeps the order of equals, as Python does
    std::stable_sort(items.begin(), items.end(),
                     [&](const Keyed& a, const Keyed& b) { return before(b, a); });
  } else {
    std::stable_sort(items.begin(), items.end(), before);
  }
  return failure;
}

Result<Value> filter_sort(Call& call) {
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  std::vector<Path> paths;
  if (call.given(3) && call.args[3].is_text()) {
    const Text& names = *call.args[3].text;
    for (size_t begin = 0;;) {
      const size_t comma = std::min(names.view().find(',', begin), size_t{names.size});
      const Text name = names.slice(begin, comma - begin);
      LLMRT_ASSIGN(Path path, path_of(call, Value::of_text(&name)));
      paths.push_back(std::move(path));
      if (comma == names.size) break;
      begin = comma + 1;
    }
  } else {
    LLMRT_ASSIGN(Path path, path_of(call, call.args[3]));
    paths.push_back(std::move(path));
  }
  const bool case_sensitive = call.flag(2, false);
  LLMRT_TRY(call.run.room_for(
      call.at, uint64_t{items->size} * (sizeof(Keyed) + paths.size() * sizeof(Value))));
  std::vector<Keyed> keyed;
  for (const Value& item : *items) {
    Keyed k;
    k.item = item;
    for (const Path& path : paths) {
      LLMRT_ASSIGN(const Value found, follow(call, item, path));
      LLMRT_ASSIGN(const Value key, comparable(call, found, case_sensitive));
      k.keys.push_back(key);
    }
    keyed.push_back(std::move(k));
  }
  LLMRT_TRY(sort_keyed(call, keyed, call.flag(1, false)));
  List* sorted = call.run.arena().make<List>();
  for (const Keyed& k : keyed) sorted->push(call.run.arena(), k.item);
  return Value::of_list(sorted);
}

Result<Value> filter_dictsort(Call& call) {
  if (!call.args[0].is(Kind::dict)) return call.fail("takes a dict");
  bool by_value = false;
  if (call.given(2)) {
    LLMRT_ASSIGN(const Text by, call.text(2));
    if (by.view() != "key" && by.view() != "value") return call.fail("'by' is key or value");
    by_value = by.view() == "value";
  }
  const Dict& dict = *call.args[0].dict;
  const bool case_sensitive = call.flag(1, false);
  LLMRT_TRY(call.run.room_for(call.at, uint64_t{dict.size} * (sizeof(Keyed) + sizeof(Value))));
  std::vector<Keyed> keyed;
  for (uint32_t i = 0; i < dict.size; ++i) {
    const Dict::Entry& e = dict.entries[i];
    LLMRT_ASSIGN(const Value key, comparable(call, by_value ? e.value : e.key, case_sensitive));
    List* pair = call.run.arena().make<List>();
    pair->push(call.run.arena(), e.key);
    pair->push(call.run.arena(), e.value);
    keyed.push_back({Value::of_list(pair, Kind::tuple), {key}});
  }
  LLMRT_TRY(sort_keyed(call, keyed, call.flag(3, false)));
  List* sorted = call.run.arena().make<List>();
  for (const Keyed& k : keyed) sorted->push(call.run.arena(), k.item);
  return Value::of_list(sorted);
}

Result<Value> filter_groupby(Call& call) {
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  LLMRT_ASSIGN(const Path path, path_of(call, call.args[1]));
  const bool case_sensitive = call.flag(3, false);
  LLMRT_TRY(call.run.room_for(call.at, uint64_t{items->size} * (sizeof(Keyed) + sizeof(Value))));
  std::vector<Keyed> keyed;
  for (const Value& item : *items) {
    LLMRT_ASSIGN(const Value found, follow(call, item, path, call.args[2]));
    LLMRT_ASSIGN(const Value key, comparable(call, found, case_sensitive));
    keyed.push_back({item, {key}});
  }
  LLMRT_TRY(sort_keyed(call, keyed, false));
  Arena& arena = call.run.arena();
  List* groups = arena.make<List>();
  const Keyed* first = nullptr;
  List* members = nullptr;
  for (const Keyed& k : keyed) {
    bool same = false;
    if (first) {
      LLMRT_ASSIGN(same, call.run.equal(call.at, first->keys[0], k.keys[0]));
    }
    if (!same) {
      first = &k;
      members = arena.make<List>();
      List* group = arena.make<List>();
      group->is_group = true;
      LLMRT_ASSIGN(const Value name, follow(call, k.item, path, call.args[2]));
      group->push(arena, name);
      group->push(arena, Value::of_list(members));
      groups->push(arena, Value::of_list(group, Kind::tuple));
    }
    members->push(arena, k.item);
  }
  return Value::of_list(groups);
}

Result<Value> filter_unique(Call& call) {
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  LLMRT_ASSIGN(const Path path, path_of(call, call.args[2]));
  Dict* seen = call.run.arena().make<Dict>();
  List kept;
  for (const Value& item : *items) {
    LLMRT_ASSIGN(const Value found, follow(call, item, path));
    LLMRT_ASSIGN(const Value key, comparable(call, found, call.flag(1, false)));
    if (!is_hashable(key)) return call.fail("a list or dict cannot be compared by 'unique'");
    if (seen->find(key)) continue;
    seen->set(call.run.arena(), key, Value::of_none());
    kept.push(call.run.arena(), item);
  }
  return generator(call, kept);
}

Result<Value> extreme(Call& call, int wanted) {
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  LLMRT_ASSIGN(const Path path, path_of(call, call.args[2]));
  Value best;
  Value best_key;
  for (const Value& item : *items) {
    LLMRT_ASSIGN(const Value found, follow(call, item, path));
    LLMRT_ASSIGN(const Value key, comparable(call, found, call.flag(1, false)));
    if (!best.is(Kind::unbound)) {
      LLMRT_ASSIGN(const int order, call.run.compare(call.at, key, best_key));
      if (order != wanted) continue;
    }
    best = item;
    best_key = key;
  }
  return best.is(Kind::unbound) ? Value::undefined() : best;
}
Result<Value> filter_min(Call& call) { return extreme(call, -1); }
Result<Value> filter_max(Call& call) { return extreme(call, 1); }

constexpr Builtin kOrderFilters[] = {
    {"dictsort", filter_dictsort, 1, {"value", "case_sensitive", "by", "reverse"}},
    {"groupby", filter_groupby, 2, {"value", "attribute", "default", "case_sensitive"}},
    {"max", filter_max, 1, {"value", "case_sensitive", "attribute"}},
    {"min", filter_min, 1, {"value", "case_sensitive", "attribute"}},
    {"sort", filter_sort, 1, {"value", "reverse", "case_sensitive", "attribute"}},
    {"unique", filter_unique, 1, {"value", "case_sensitive", "attribute"}},
};

}  // namespace

std::span<const Builtin> order_filter_table() { return kOrderFilters; }

}  // namespace llmrt::jinja
