// Filters on sequences. What is a generator in jinja2 (map, select, unique, ...) is computed at once here and iterates once.
#include "chat_template/template_list_filters.h"

#include <algorithm>

#include "base/utf8.h"
#include "chat_template/template_eval.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

Value generator(Call& call, const List& items) {
  Generator* g = call.run.arena().make<Generator>();
  g->items = items;
  Value value;
  value.kind = Kind::generator;
  value.generator = g;
  return value;
}

Result<Path> path_of(Call& call, const Value& attribute) {
  Path path;
  if (attribute.is(Kind::unbound) || attribute.is(Kind::none)) return path;
  if (!attribute.is_text()) {
    path.push_back(attribute);
    return path;
  }
  const std::string_view s = attribute.text->view();
  for (size_t begin = 0;;) {
    const size_t dot = std::min(s.find('.', begin), s.size());
    const Text part = attribute.text->slice(begin, dot - begin);
    int64_t index = 0;
    bool digits = part.size > 0 && part.size < 10;
    for (const char c : part.view()) {
      digits = digits && c >= '0' && c <= '9';
      if (digits) index = index * 10 + (c - '0');
    }
    path.push_back(digits ? Value::of_int(index) : text_value(call.run.arena(), part));
    LLMRT_TRY(call.run.charge(call.at, 1));
    if (dot == s.size()) return path;
    begin = dot + 1;
  }
}

Result<Value> follow(Call& call, Value item, const Path& path, const Value& otherwise) {
  for (const Value& part : path) {
    LLMRT_ASSIGN(item, call.run.item(call.at, item, part));
    if (item.is(Kind::undefined) && !otherwise.is(Kind::unbound) && !otherwise.is(Kind::none))
      item = otherwise;
  }
  return item;
}

namespace {

Result<Value> filter_first(Call& call) {
  Iterator items;
  if (!Iterator::over(call.args[0], &items))
    return call.fail(phrase("a value of type ", type_name(call.args[0]), " cannot be iterated"));
  Value item;
  return items.next(call.run.arena(), &item) ? item : Value::undefined();
}

Result<Value> filter_last(Call& call) {
  const Value& v = call.args[0];
  if (v.is(Kind::generator))
    return call.fail("a generator has no last item, use the filter 'list' before");
  if (v.is_text()) {
    const Text& text = *v.text;
    if (text.size == 0) return Value::undefined();
    size_t at = text.size - 1;
    while (at > 0 && is_continuation(text.data[at])) --at;
    return text_value(call.run.arena(), text.slice(at, text.size - at));
  }
  if (v.is_sequence()) return v.list->size ? v.list->items[v.list->size - 1] : Value::undefined();
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, v));
  return items->size ? items->items[items->size - 1] : Value::undefined();
}

Result<Value> filter_list(Call& call) {
  LLMRT_ASSIGN(List * list, call.run.collect(call.at, call.args[0]));
  return Value::of_list(list);
}

Result<Value> filter_reverse(Call& call) {
  if (call.args[0].is_text()) {
    const Text& text = *call.args[0].text;
    LLMRT_TRY(call.run.charge(call.at, text.size / 32));
    TextBuilder out = call.run.builder();
    for (size_t end = text.size; end > 0;) {
      size_t at = end - 1;
      while (at > 0 && is_continuation(text.data[at])) --at;
      out.append(text.slice(at, end - at));
      end = at;
    }
    return call.run.finish(call.at, out);
  }
  LLMRT_ASSIGN(List * list, call.run.collect(call.at, call.args[0]));
  std::reverse(list->items, list->items + list->size);
  return generator(call, *list);
}

Result<Value> filter_items(Call& call) {
  List pairs;
  if (call.args[0].is(Kind::undefined)) return generator(call, pairs);
  if (!call.args[0].is(Kind::dict)) return call.fail("takes a dict");
  DictView view;
  view.what = DictView::What::items;
  view.dict = call.args[0].dict;
  Value over;
  over.kind = Kind::dict_view;
  over.view = &view;
  LLMRT_ASSIGN(const List* list, call.run.collect(call.at, over));
  return generator(call, *list);
}

Result<Value> filter_join(Call& call) {
  Text separator;
  if (call.given(1)) {
    LLMRT_ASSIGN(separator, call.run.to_text(call.at, call.args[1]));
  }
  LLMRT_ASSIGN(const Path path, path_of(call, call.args[2]));
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  TextBuilder out = call.run.builder();
  for (uint32_t i = 0; i < items->size; ++i) {
    LLMRT_ASSIGN(const Value item, follow(call, items->items[i], path));
    LLMRT_ASSIGN(const Text text, call.run.to_text(call.at, item));
    if (i) out.append(separator);
    out.append(text);
    if (out.over_limit()) break;
  }
  return call.run.finish(call.at, out);
}

Result<Value> filter_sum(Call& call) {
  LLMRT_ASSIGN(const Path path, path_of(call, call.args[1]));
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  Value sum = call.given(2) ? call.args[2] : Value::of_int(0);
  if (sum.is_text()) return call.fail("texts are not summed, use 'join'");
  for (const Value& item : *items) {
    LLMRT_ASSIGN(const Value found, follow(call, item, path));
    LLMRT_ASSIGN(sum, call.run.binary(call.at, Op::add, sum, found));
  }
  return sum;
}

Result<Value> filter_batch(Call& call) {
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  LLMRT_ASSIGN(const int64_t size, call.integer(1, 0));
  const bool fill = call.given(2) && !call.args[2].is(Kind::none);
  if (size < 1) return call.fail("the size of a batch is at least 1");
  Arena& arena = call.run.arena();
  List batches;
  List* batch = nullptr;
  for (const Value& item : *items) {
    if (!batch || batch->size == size) {
      batch = arena.make<List>();
      batches.push(arena, Value::of_list(batch));
    }
    batch->push(arena, item);
  }
  for (int64_t n = batch ? size - batch->size : 0; fill && n > 0; --n) {
    LLMRT_TRY(call.run.charge(call.at, 1));
    batch->push(arena, call.args[2]);
  }
  return generator(call, batches);
}

Result<Value> filter_slice(Call& call) {
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  LLMRT_ASSIGN(const int64_t n, call.integer(1, 0));
  if (n < 1) return call.fail("the number of slices is at least 1");
  const bool fill = call.given(2) && !call.args[2].is(Kind::none);
  Arena& arena = call.run.arena();
  const int64_t each = items->size / n;
  const int64_t longer = items->size % n;
  List slices;
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    LLMRT_TRY(call.run.charge(call.at, 1));
    List* part = arena.make<List>();
    const int64_t size = each + (i < longer ? 1 : 0);
    for (int64_t k = 0; k < size; ++k) part->push(arena, items->items[at++]);
    if (fill && i >= longer) part->push(arena, call.args[2]);
    slices.push(arena, Value::of_list(part));
  }
  return generator(call, slices);
}

Result<Value> filter_attr(Call& call) {
  LLMRT_ASSIGN(const Text name, call.text(1));
  const Value& object = call.args[0];
  if (object.is(Kind::dict)) {  // an attribute only, never a key
    const Builtin* method = find_method(object, name.view());
    if (!method) return Value::undefined();
  }
  return call.run.attribute(call.at, object, name);
}

// --- map, select, reject

// The filter or test that the first of `rest` names, applied to an item and the other arguments.
Result<Value> apply_named(Call& call, const Builtin& builtin, const Value& item, size_t n_skipped) {
  CallArguments arguments;
  arguments.positional.push(call.run.arena(), item);
  for (const Value& v : call.rest.subspan(n_skipped))
    arguments.positional.push(call.run.arena(), v);
  if (!call.named.empty()) {
    arguments.named = call.run.arena().array<NamedValue>(call.named.size());
    std::copy(call.named.begin(), call.named.end(), arguments.named);
    arguments.n_named = static_cast<uint32_t>(call.named.size());
  }
  return call.run.apply(call.at, builtin, arguments);
}

Result<Value> filter_map(Call& call) {
  List mapped;
  if (!truthy(call.args[0])) return generator(call, mapped);
  Path path;
  Value otherwise;
  const Builtin* builtin = nullptr;
  if (call.rest.empty() && !call.named.empty()) {
    bool by_attribute = false;
    for (const NamedValue& named : call.named) {
      if (named.name->view() == "attribute") {
        LLMRT_ASSIGN(path, path_of(call, named.value));
        by_attribute = true;
      } else if (named.name->view() == "default") {
        otherwise = named.value;
      } else {
        return call.fail(phrase("has no argument '", utf8_head(named.name->view(), 40), "'"));
      }
    }
    if (!by_attribute) return call.fail("needs a filter's name or attribute=");
  } else {
    if (call.rest.empty() || !call.rest[0].is_text())
      return call.fail("needs a filter's name or attribute=");
    const std::string_view name = call.rest[0].text->view();
    builtin = find_filter(name);
    if (!builtin) return call.fail(phrase("unknown filter '", utf8_head(name, 40), "'"));
  }
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  for (const Value& item : *items) {
    LLMRT_TRY(call.run.charge(call.at, 1));
    Result<Value> value =
        builtin ? apply_named(call, *builtin, item, 1) : follow(call, item, path, otherwise);
    if (!value.ok()) return value;
    mapped.push(call.run.arena(), *value);
  }
  return generator(call, mapped);
}

Result<Value> select(Call& call, bool wanted, bool by_attribute) {
  List kept;
  if (!truthy(call.args[0])) return generator(call, kept);
  size_t n_skipped = 0;
  Path path;
  if (by_attribute) {
    if (call.rest.empty()) return call.fail("needs an attribute's name");
    LLMRT_ASSIGN(path, path_of(call, call.rest[0]));
    n_skipped = 1;
  }
  const Builtin* test = nullptr;
  if (call.rest.size() > n_skipped) {
    const Value& name = call.rest[n_skipped++];
    test = name.is_text() ? find_test(name.text->view()) : nullptr;
    if (!test) return call.fail("unknown test");
  }
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[0]));
  for (const Value& item : *items) {
    LLMRT_TRY(call.run.charge(call.at, 1));
    LLMRT_ASSIGN(Value value, follow(call, item, path));
    if (test) {
      LLMRT_ASSIGN(value, apply_named(call, *test, value, n_skipped));
    }
    if (truthy(value) == wanted) kept.push(call.run.arena(), item);
  }
  return generator(call, kept);
}
Result<Value> filter_select(Call& call) { return select(call, true, false); }
Result<Value> filter_reject(Call& call) { return select(call, false, false); }
Result<Value> filter_selectattr(Call& call) { return select(call, true, true); }
Result<Value> filter_rejectattr(Call& call) { return select(call, false, true); }

constexpr Builtin kListFilters[] = {
    {"attr", filter_attr, 2, {"obj", "name"}},
    {"batch", filter_batch, 2, {"value", "linecount", "fill_with"}},
    {"first", filter_first, 1, {"seq"}},
    {"items", filter_items, 1, {"value"}},
    {"join", filter_join, 1, {"value", "d", "attribute"}},
    {"last", filter_last, 1, {"seq"}},
    {"list", filter_list, 1, {"value"}},
    {"map", filter_map, 1, {"value"}, true},
    {"reject", filter_reject, 1, {"value"}, true},
    {"rejectattr", filter_rejectattr, 1, {"value"}, true},
    {"reverse", filter_reverse, 1, {"value"}},
    {"select", filter_select, 1, {"value"}, true},
    {"selectattr", filter_selectattr, 1, {"value"}, true},
    {"slice", filter_slice, 2, {"value", "slices", "fill_with"}},
    {"sum", filter_sum, 1, {"iterable", "attribute", "start"}},
};

}  // namespace

std::span<const Builtin> list_filter_table() { return kListFilters; }

}  // namespace llmrt::jinja
