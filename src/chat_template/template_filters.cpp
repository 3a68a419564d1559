// Filters on texts and scalars, and conversions.
#include <algorithm>
#include <string>
#include <vector>

#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"
#include "chat_template/template_text.h"
#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

namespace {

Result<Text> soft_text(Call& call, size_t i = 0) { return call.run.to_text(call.at, call.args[i]); }

Result<Value> filter_upper(Call& call) {
  LLMRT_ASSIGN(const Text text, soft_text(call));
  return cased(call, text, 1);
}
Result<Value> filter_lower(Call& call) {
  LLMRT_ASSIGN(const Text text, soft_text(call));
  return cased(call, text, 0);
}
Result<Value> filter_string(Call& call) {
  if (call.args[0].is_text()) return call.args[0];
  LLMRT_ASSIGN(const Text text, soft_text(call));
  return give(call, text);
}
Result<Value> filter_trim(Call& call) {
  LLMRT_ASSIGN(const Text text, soft_text(call));
  return strip(call, text, call.args[1], true, true);
}

Result<Value> method_of_text(Call& call, const char* name) {
  LLMRT_ASSIGN(const Text text, soft_text(call));
  Call inner = call;
  inner.args[0] = Value::of_text(make_text(call.run.arena(), text));
  return find_method(inner.args[0], name)->function(inner);
}
Result<Value> filter_capitalize(Call& call) { return method_of_text(call, "capitalize"); }
Result<Value> filter_center(Call& call) { return method_of_text(call, "center"); }

// Capital after "-", blanks and opening brackets: jinja2's own rule, not str.title.
Result<Value> filter_title(Call& call) {
  LLMRT_ASSIGN(const Text text, soft_text(call));
  LLMRT_TRY(call.run.charge(call.at, text.size / 64));
  TextBuilder out = call.run.builder();
  bool at_start = true;
  const char* p = text.data;
  const char* end = p + text.size;
  while (p < end) {
    const bool input = text.is_input(static_cast<size_t>(p - text.data));
    const uint32_t cp = next_code_point(p, end);
    append_cased(out, cp, at_start ? Case::upper : Case::lower, input);
    at_start = cp == '-' || cp == '(' || cp == '{' || cp == '[' || cp == '<' || is_space(cp);
  }
  return call.run.finish(call.at, out);
}

Result<Value> filter_replace(Call& call) {
  LLMRT_ASSIGN(const Text text, soft_text(call, 0));
  LLMRT_ASSIGN(const Text old_text, soft_text(call, 1));
  LLMRT_ASSIGN(const Text new_text, soft_text(call, 2));
  if (call.given(3) && call.args[3].is(Kind::none)) call.args[3] = Value();
  LLMRT_ASSIGN(const int64_t count, call.integer(3, -1));
  return replace(call, text, old_text, new_text, count);
}

// Lines of text, each with its end cut off.
std::vector<Text> lines_of(const Text& text) {
  std::vector<Text> lines;
  const char* p = text.data;
  const char* end = p + text.size;
  size_t begin = 0;
  while (p < end) {
    const auto at = static_cast<size_t>(p - text.data);
    const uint32_t cp = next_code_point(p, end);
    if (!is_line_end(cp)) continue;
    if (cp == '\r' && p < end && *p == '\n') ++p;
    lines.push_back(text.slice(begin, at - begin));
    begin = static_cast<size_t>(p - text.data);
  }
  lines.push_back(text.slice(begin, text.size - begin));
  return lines;
}

Result<Value> filter_indent(Call& call) {
  if (!call.args[0].is_text()) return call.fail("takes a text");
  const Text& text = *call.args[0].text;
  LLMRT_TRY(call.run.charge(call.at, text.size / 64));
  Text indent;
  if (call.given(1) && call.args[1].is_text()) {
    indent = *call.args[1].text;
  } else {
    LLMRT_ASSIGN(const int64_t width, call.integer(1, 4));
    LLMRT_TRY(call.run.room_for(call.at, static_cast<uint64_t>(std::max<int64_t>(width, 0)) * 2));
    indent = *copy_text(call.run.arena(),
                        std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), false);
  }
  const bool first = call.flag(2, false);
  const bool blank = call.flag(3, false);
  // the lines, were each empty
  LLMRT_TRY(call.run.room_for(call.at, uint64_t{text.size} * sizeof(Text)));
  TextBuilder out = call.run.builder();
  bool any = false;
  for (const Text& line : lines_of(text)) {
    if (any) out.append('\n', false);
    if (any ? blank || line.size > 0 : first) out.append(indent);
    out.append(line);
    any = true;
    if (out.over_limit()) break;
  }
  return call.run.finish(call.at, out);
}

Result<Value> filter_truncate(Call& call) {
  LLMRT_ASSIGN(const Text text, call.text(0));
  LLMRT_ASSIGN(const int64_t length, call.integer(1, 255));
  const Text dots{"...", nullptr, 3, false};
  Text end = dots;
  if (call.given(3)) {
    LLMRT_ASSIGN(end, call.text(3));
  }
  if (call.given(4) && call.args[4].is(Kind::none)) call.args[4] = Value();
  LLMRT_ASSIGN(const int64_t leeway, call.integer(4, 5));
  const int64_t end_length = length_of(Value::of_text(&end));
  if (length < end_length || length > INT32_MAX || leeway < 0)
    return call.fail("length or leeway out of range");
  if (length_of(call.args[0]) <= length + leeway) return call.args[0];
  Text kept = text.slice(0, code_point_offset(text.view(), length - end_length));
  if (!call.flag(2, false)) {
    const size_t blank = kept.view().rfind(' ');
    if (blank != std::string_view::npos) kept = text.slice(0, blank);
  }
  const Text parts[] = {kept, end};
  return call.run.join(call.at, parts);
}

Result<Value> filter_escape(Call& call) {
  LLMRT_ASSIGN(const Text text, soft_text(call));
  LLMRT_TRY(call.run.charge(call.at, text.size / 32));
  TextBuilder out = call.run.builder();
  for (size_t i = 0; i < text.size && !out.over_limit(); ++i) {
    const bool input = text.is_input(i);
    switch (text.data[i]) {
      case '&':
        out.append("&amp;", input);
        break;
      case '<':
        out.append("&lt;", input);
        break;
      case '>':
        out.append("&gt;", input);
        break;
      case '"':
        out.append("&#34;", input);
        break;
      case '\'':
        out.append("&#39;", input);
        break;
      default:
        out.append(text.data[i], input);
    }
  }
  return call.run.finish(call.at, out);
}

Result<Value> filter_wordcount(Call& call) {
  LLMRT_ASSIGN(const Text text, soft_text(call));
  LLMRT_TRY(call.run.charge(call.at, text.size / 64));
  int64_t n = 0;
  bool inside = false;
  for (const char *p = text.data, *end = p + text.size; p < end;) {
    const uint32_t cp = next_code_point(p, end);
    const bool word = cp == '_' || is_letter(cp) || is_numeric(cp);
    n += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value::of_int(n);
}

Result<Value> filter_default(Call& call) {
  const bool replace_it =
      call.args[0].is(Kind::undefined) || (call.flag(2, false) && !truthy(call.args[0]));
  if (!replace_it) return call.args[0];
  if (call.given(1)) return call.args[1];
  return give(call, Text());
}

Result<Value> filter_length(Call& call) {
  if (call.args[0].is_text()) LLMRT_TRY(call.run.charge(call.at, call.args[0].text->size / 64));
  const int64_t n = length_of(call.args[0]);
  if (n < 0)
    return call.fail(phrase("a value of type ", type_name(call.args[0]), " has no length"));
  return Value::of_int(n);
}

// --- JSON, formatting

Result<Value> filter_tojson(Call& call) {
  JsonStyle style;
  style.ascii = call.flag(1, false);
  style.sort_keys = call.flag(4, false);
  if (call.given(2) && !call.args[2].is(Kind::none)) {
    style.pretty = true;
    style.item_separator.assign(1, ',');
    if (call.args[2].is_text()) {
      style.indent = call.args[2].text->view();
    } else {
      LLMRT_ASSIGN(const int64_t width, call.integer(2, 0));
      if (width > 1000) return call.fail("indent is at most 1000");
      style.indent.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
    }
  }
  if (call.given(3) && !call.args[3].is(Kind::none)) {
    const Value& pair = call.args[3];
    if (!pair.is_sequence() || pair.list->size != 2 || !pair.list->items[0].is_text() ||
        !pair.list->items[1].is_text())
      return call.fail("separators are two texts");
    style.item_separator = pair.list->items[0].text->view();
    style.key_separator = pair.list->items[1].text->view();
  }
  TextBuilder out = call.run.builder();
  const Status written = write_json(out, call.args[0], style);
  if (!written.ok()) return call.run.fail(call.at, written);
  LLMRT_TRY(call.run.charge(call.at, out.size() / 64));
  return call.run.finish(call.at, out);
}

Result<Value> filter_format(Call& call) {
  LLMRT_ASSIGN(const Text format, soft_text(call));
  Value arguments;
  if (!call.named.empty()) {
    if (!call.rest.empty()) return call.fail("takes positional or keyword arguments, not both");
    Dict* dict = call.run.arena().make<Dict>();
    for (const NamedValue& named : call.named)
      dict->set(call.run.arena(), Value::of_text(named.name), named.value);
    arguments = Value::of_dict(dict);
  } else {
    List* list = call.run.arena().make<List>();
    for (const Value& v : call.rest) list->push(call.run.arena(), v);
    arguments = Value::of_list(list, Kind::tuple);
  }
  return format_percent(call.run, call.at, format, arguments);
}

constexpr Builtin kFilters[] = {
    {"capitalize", filter_capitalize, 1, {"s"}},
    {"center", filter_center, 1, {"value", "width"}},
    {"count", filter_length, 1, {"obj"}},
    {"d", filter_default, 1, {"value", "default_value", "boolean"}},
    {"default", filter_default, 1, {"value", "default_value", "boolean"}},
    {"e", filter_escape, 1, {"s"}},
    {"escape", filter_escape, 1, {"s"}},
    {"forceescape", filter_escape, 1, {"value"}},
    {"format", filter_format, 1, {"value"}, true},
    {"from_json", filter_from_json, 1, {"value"}},
    {"indent", filter_indent, 1, {"s", "width", "first", "blank"}},
    {"length", filter_length, 1, {"obj"}},
    {"lower", filter_lower, 1, {"s"}},
    {"replace", filter_replace, 3, {"s", "old", "new", "count"}},
    {"safe", filter_string, 1, {"value"}},
    {"string", filter_string, 1, {"object"}},
    {"title", filter_title, 1, {"s"}},
    {"tojson", filter_tojson, 1, {"x", "ensure_ascii", "indent", "separators", "sort_keys"}},
    {"trim", filter_trim, 1, {"value", "chars"}},
    {"truncate", filter_truncate, 1, {"s", "length", "killwords", "end", "leeway"}},
    {"upper", filter_upper, 1, {"s"}},
    {"wordcount", filter_wordcount, 1, {"s"}},
};

}  // namespace

std::span<const Builtin> filter_table() { return kFilters; }

}  // namespace llmrt::jinja
