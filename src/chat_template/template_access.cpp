// Attributes, subscripts, slices and iteration of the evaluator, with Python's meaning.
#include <algorithm>
#include <string>
#include <vector>

#include "chat_template/template_eval.h"
#include "chat_template/template_unicode.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

Value Evaluator::undefined_attribute(const Value& object, std::string_view name) {
  std::string what = "a value of type ";
  what.append(type_name(object))
      .append(" has no attribute '")
      .append(utf8_head(name, 60))
      .append("'");
  return Value::undefined(copy_text(arena_, what, false));
}

// Python's order: a method hides a key of its name.
Result<Value> Evaluator::attribute(uint32_t at, const Value& object, const Text& name,
                                   bool may_be_method) {
  if (object.is(Kind::undefined)) return fail_undefined(at, object);
  if (object.is(Kind::loop)) return loop_attribute(at, *object.loop, name.view());
  if (may_be_method)
    if (const Builtin* method = find_method(object, name.view()))
      return bound_method(*method, object);
  if (object.is(Kind::dict) || object.is(Kind::name_space)) {
    if (const Value* value = object.dict->find(name.view())) return *value;
  } else if (object.is(Kind::tuple) && object.list->is_group) {
    if (name.view() == "grouper") return object.list->items[0];
    if (name.view() == "list") return object.list->items[1];
  }
  return undefined_attribute(object, name.view());
}

// Python's order the other way round: the key first.
Result<Value> Evaluator::item(uint32_t at, const Value& object, const Value& key) {
  if (object.is(Kind::undefined)) return fail_undefined(at, object);
  if (object.is(Kind::dict) && is_hashable(key)) {
    if (const Value* value = object.dict->find(key)) return *value;
  } else if (key.is_integral() &&
             (object.is_text() || object.is_sequence() || object.is(Kind::range))) {
    if (object.is_text()) LLMRT_TRY(charge(at, object.text->size / 64));
    const int64_t size = length_of(object);
    const int64_t i = key.as_int() < 0 ? key.as_int() + size : key.as_int();
    if (i >= 0 && i < size) {
      if (object.is_sequence()) return object.list->items[i];
      if (object.is(Kind::range))
        return Value::of_int(object.range->start + i * object.range->step);
      const std::string_view s = object.text->view();
      const size_t begin = code_point_offset(s, i);
      return text_value(arena_, object.text->slice(begin, code_point_offset(s.substr(begin), 1)));
    }
  }
  if (key.is_text()) {
    if (object.is(Kind::dict)) {
      if (const Builtin* method = find_method(object, key.text->view()))
        return bound_method(*method, object);
    } else {
      return attribute(at, object, *key.text);
    }
    return undefined_attribute(object, key.text->view());
  }
  return undefined_attribute(object, "[]");
}

namespace {

// Python's slice.indices: the first index, the step and how many.
struct SliceRange {
  int64_t start = 0, step = 1, size = 0;
};
SliceRange slice_range(int64_t length, bool has_from, int64_t from, bool has_to, int64_t to,
                       int64_t step) {
  const auto clamp = [&](int64_t i) {
    if (i < 0) i = i < -length ? -1 : i + length;
    return std::clamp<int64_t>(i, step < 0 ? -1 : 0, step < 0 ? length - 1 : length);
  };
  SliceRange r;
  r.step = step;
  r.start = has_from ? clamp(from) : step < 0 ? length - 1 : 0;
  const int64_t stop = has_to ? clamp(to) : step < 0 ? -1 : length;
  if (step > 0 && stop > r.start) r.size = (stop - r.start - 1) / step + 1;
  if (step < 0 && stop < r.start) r.size = (r.start - stop - 1) / -step + 1;
  return r;
}

}  // namespace

Result<Value> Evaluator::slice(uint32_t at, const Value& object, const Value& from, const Value& to,
                               const Value& step) {
  if (object.is(Kind::undefined)) return fail_undefined(at, object);
  if (!object.is_text() && !object.is_sequence() && !object.is(Kind::range))
    return fail(at, phrase("a value of type ", type_name(object), " cannot be sliced"));
  for (const Value* bound : {&from, &to, &step}) {
    if (bound->is(Kind::undefined)) return fail_undefined(at, *bound);
    if (!bound->is(Kind::none) && !bound->is_integral())
      return fail(at,
                  phrase("the parts of a slice are integers, this is of type ", type_name(*bound)));
  }
  const int64_t by = step.is(Kind::none) ? 1 : std::max(step.as_int(), -INT64_MAX);
  if (by == 0) return fail(at, "the step of a slice cannot be zero");
  const int64_t length = length_of(object);
  const SliceRange r =
      slice_range(length, !from.is(Kind::none), from.is(Kind::none) ? 0 : from.as_int(),
                  !to.is(Kind::none), to.is(Kind::none) ? 0 : to.as_int(), by);
  if (object.is(Kind::range)) {
    Range* range = arena_.make<Range>();
    range->step = object.range->step * (r.size > 1 ? by : 1);
    range->start = object.range->start + r.start * object.range->step;
    range->size = r.size;
    range->stop =
        static_cast<int64_t>(static_cast<uint64_t>(range->start) +
                             static_cast<uint64_t>(r.size) * static_cast<uint64_t>(range->step));
    Value value;
    value.kind = Kind::range;
    value.range = range;
    return value;
  }
  if (object.is_sequence()) {
    LLMRT_TRY(room_for(at, static_cast<uint64_t>(r.size) * 2 * sizeof(Value)));
    LLMRT_TRY(charge(at, static_cast<uint64_t>(r.size) / 16));
    List* list = arena_.make<List>();
    for (int64_t i = 0; i < r.size; ++i) list->push(arena_, object.list->items[r.start + i * by]);
    return Value::of_list(list, object.kind);
  }
  const Text& text = *object.text;
  LLMRT_TRY(charge(at, text.size / 64));
  if (by == 1) {
    const size_t begin = code_point_offset(text.view(), r.size ? r.start : 0);
    return text_value(arena_,
                      text.slice(begin, code_point_offset(text.view().substr(begin), r.size)));
  }
  LLMRT_TRY(room_for(at, uint64_t{text.size} * 6));
  std::vector<uint32_t> offsets;  // of each code point, and the end
  for (const char* p = text.data; p < text.data + text.size;) {
    offsets.push_back(static_cast<uint32_t>(p - text.data));
    next_code_point(p, text.data + text.size);
  }
  offsets.push_back(text.size);
  TextBuilder out = builder();
  for (int64_t i = 0; i < r.size; ++i) {
    const auto k = static_cast<size_t>(r.start + i * by);
    out.append(text.slice(offsets[k], offsets[k + 1] - offsets[k]));
  }
  return finish(at, out);
}

Result<List*> Evaluator::collect(uint32_t at, const Value& iterable) {
  Iterator items;
  if (!Iterator::over(iterable, &items))
    return fail(at, phrase("a value of type ", type_name(iterable), " cannot be iterated"));
  List* list = arena_.make<List>();
  Value item;
  while (items.next(arena_, &item)) {
    LLMRT_TRY(charge(at, 1));
    list->push(arena_, item);
  }
  return list;
}

}  // namespace llmrt::jinja
