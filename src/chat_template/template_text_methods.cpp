// Methods of texts: cutting, searching, putting together. Pieces cut from a text keep the origin of their bytes.
#include <algorithm>

#include "base/utf8.h"
#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"
#include "chat_template/template_unicode.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

Result<Value> give(Call& call, const Text& text) { return text_value(call.run.arena(), text); }

Status charge_text(Call& call, const Text& text) {
  return call.run.charge(call.at, text.size / 64);
}

namespace {

// --- cutting

Result<Value> text_strip(Call& call) {
  return strip(call, self_text(call), call.args[1], true, true);
}
Result<Value> text_lstrip(Call& call) {
  return strip(call, self_text(call), call.args[1], true, false);
}
Result<Value> text_rstrip(Call& call) {
  return strip(call, self_text(call), call.args[1], false, true);
}

Result<Value> text_removeprefix(Call& call) {
  LLMRT_ASSIGN(const Text prefix, call.text(1));
  const Text& text = self_text(call);
  if (!text.view().starts_with(prefix.view())) return call.args[0];
  return give(call, text.slice(prefix.size, text.size - prefix.size));
}
Result<Value> text_removesuffix(Call& call) {
  LLMRT_ASSIGN(const Text suffix, call.text(1));
  const Text& text = self_text(call);
  if (!text.view().ends_with(suffix.view())) return call.args[0];
  return give(call, text.slice(0, text.size - suffix.size));
}

struct Pieces {
  Call& call;
  List* list;
  const Text& text;
  void push(size_t begin, size_t end) {
    if (call.run.arena().over_limit()) return;  // reported by the charge at the end
    list->push(call.run.arena(), text_value(call.run.arena(), text.slice(begin, end - begin)));
  }
};

// Cuts at runs of blanks, at most `limit` times (negative: no limit). From the right: pieces come out reversed.
void split_blanks(Pieces& out, int64_t limit) {
  const std::string_view s = out.text.view();
  size_t i = s.size() - strip_space_left(s).size();
  while (i < s.size()) {
    size_t end = i;
    if (limit == 0) {
      out.push(i, s.size());
      return;
    }
    for (const char* p = s.data() + i; p < s.data() + s.size();
         end = static_cast<size_t>(p - s.data()))
      if (is_space(next_code_point(p, s.data() + s.size()))) break;
    out.push(i, end);
    --limit;
    i = s.size() - strip_space_left(s.substr(end)).size();
  }
}
void rsplit_blanks(Pieces& out, int64_t limit) {
  std::string_view s = strip_space_right(out.text.view());
  while (!s.empty()) {
    if (limit-- == 0) {
      out.push(0, s.size());
      return;
    }
    size_t begin = s.size();
    while (begin > 0) {
      size_t at = begin - 1;
      while (at > 0 && is_continuation(s[at])) --at;
      const char* p = s.data() + at;
      if (is_space(next_code_point(p, s.data() + s.size()))) break;
      begin = at;
    }
    out.push(begin, s.size());
    s = strip_space_right(s.substr(0, begin));
  }
}

Result<Value> split(Call& call, bool from_right) {
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  LLMRT_ASSIGN(const int64_t limit, call.integer(2, -1));
  Pieces out{call, call.run.arena().make<List>(), text};
  const bool by_blanks = !call.given(1) || call.args[1].is(Kind::none);
  if (by_blanks) {
    from_right ? rsplit_blanks(out, limit) : split_blanks(out, limit);
  } else {
    LLMRT_ASSIGN(const Text separator, call.text(1));
    if (separator.size == 0) return call.fail("the separator is empty");
    const std::string_view s = text.view();
    size_t begin = 0;
    size_t end = s.size();
    for (int64_t n = 0; limit < 0 || n < limit; ++n) {
      const std::string_view rest = s.substr(begin, end - begin);
      const size_t found = from_right ? rest.rfind(separator.view()) : rest.find(separator.view());
      if (found == rest.npos) break;
      if (from_right) {
        out.push(found + separator.size, end);
        end = found;
      } else {
        out.push(begin, begin + found);
        begin += found + separator.size;
      }
    }
    out.push(begin, end);
  }
  LLMRT_TRY(call.run.charge(call.at, out.list->size / 8));
  if (from_right) std::reverse(out.list->items, out.list->items + out.list->size);
  return Value::of_list(out.list);
}
Result<Value> text_split(Call& call) { return split(call, false); }
Result<Value> text_rsplit(Call& call) { return split(call, true); }

Result<Value> text_splitlines(Call& call) {
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  const bool keep = call.flag(1, false);
  Pieces out{call, call.run.arena().make<List>(), text};
  size_t begin = 0;
  CodePoints c(text);
  while (c.next()) {
    if (!is_line_end(c.cp)) continue;
    if (c.cp == '\r' && c.p < c.end && *c.p == '\n') ++c.p;
    const auto after = static_cast<size_t>(c.p - c.begin);
    out.push(begin, keep ? after : c.offset);
    begin = after;
  }
  if (begin < text.size) out.push(begin, text.size);
  LLMRT_TRY(call.run.charge(call.at, out.list->size / 8));
  return Value::of_list(out.list);
}

Result<Value> partition(Call& call, bool from_right) {
  LLMRT_ASSIGN(const Text separator, call.text(1));
  if (separator.size == 0) return call.fail("the separator is empty");
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  const size_t found =
      from_right ? text.view().rfind(separator.view()) : text.view().find(separator.view());
  Pieces out{call, call.run.arena().make<List>(), text};
  if (found == std::string_view::npos) {
    out.push(0, from_right ? 0 : text.size);
    out.push(0, 0);
    out.push(0, from_right ? text.size : 0);
  } else {
    out.push(0, found);
    out.push(found, found + separator.size);
    out.push(found + separator.size, text.size);
  }
  return Value::of_list(out.list, Kind::tuple);
}
Result<Value> text_partition(Call& call) { return partition(call, false); }
Result<Value> text_rpartition(Call& call) { return partition(call, true); }

// --- searching

// The bytes of [start, end), Python's optional code point bounds, which may count from the end.
struct Window {
  size_t begin = 0, end = 0;
  bool valid = true;  // start <= length of the text
};
Result<Window> window(Call& call, size_t first) {
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  Window w{0, text.size, true};
  const bool bounded = (call.given(first) && !call.args[first].is(Kind::none)) ||
                       (call.given(first + 1) && !call.args[first + 1].is(Kind::none));
  if (!bounded) return w;
  const int64_t n = length_of(call.args[0]);
  const auto bound = [&](size_t i, int64_t otherwise) -> Result<int64_t> {
    if (call.given(i) && call.args[i].is(Kind::none)) return otherwise;
    LLMRT_ASSIGN(const int64_t v, call.integer(i, otherwise));
    return v < 0 ? std::max<int64_t>(v < -n ? 0 : v + n, 0) : v;
  };
  LLMRT_ASSIGN(const int64_t start, bound(first, 0));
  LLMRT_ASSIGN(const int64_t stop, bound(first + 1, n));
  w.valid = start <= n && start <= std::min(stop, n);
  w.begin = code_point_offset(text.view(), std::min(start, n));
  w.end = std::max(w.begin, code_point_offset(text.view(), std::min(stop, n)));
  return w;
}

Result<int64_t> search(Call& call, bool from_right) {
  LLMRT_ASSIGN(const Text wanted, call.text(1));
  LLMRT_ASSIGN(const Window w, window(call, 2));
  if (!w.valid) return -1;
  const std::string_view s = self_text(call).view().substr(w.begin, w.end - w.begin);
  const size_t found = from_right ? s.rfind(wanted.view()) : s.find(wanted.view());
  if (found == s.npos) return -1;
  const Text before = self_text(call).slice(0, w.begin + found);
  return length_of(Value::of_text(&before));
}
Result<Value> text_find(Call& call) {
  LLMRT_ASSIGN(const int64_t i, search(call, false));
  return Value::of_int(i);
}
Result<Value> text_rfind(Call& call) {
  LLMRT_ASSIGN(const int64_t i, search(call, true));
  return Value::of_int(i);
}
Result<Value> text_index(Call& call) {
  LLMRT_ASSIGN(const int64_t i, search(call, false));
  if (i < 0) return call.fail("the text is not found");
  return Value::of_int(i);
}
Result<Value> text_rindex(Call& call) {
  LLMRT_ASSIGN(const int64_t i, search(call, true));
  if (i < 0) return call.fail("the text is not found");
  return Value::of_int(i);
}

Result<Value> text_count(Call& call) {
  LLMRT_ASSIGN(const Text wanted, call.text(1));
  LLMRT_ASSIGN(const Window w, window(call, 2));
  const std::string_view s = self_text(call).view().substr(w.begin, w.end - w.begin);
  if (!w.valid) return Value::of_int(0);
  if (wanted.size == 0) {
    const Text part = self_text(call).slice(w.begin, w.end - w.begin);
    return Value::of_int(length_of(Value::of_text(&part)) + 1);
  }
  int64_t n = 0;
  for (size_t i = 0; (i = s.find(wanted.view(), i)) != s.npos; i += wanted.size) ++n;
  return Value::of_int(n);
}

Result<Value> has_affix(Call& call, bool at_end) {
  LLMRT_ASSIGN(const Window w, window(call, 2));
  const std::string_view s = self_text(call).view().substr(w.begin, w.end - w.begin);
  const auto matches = [&](const Value& v) {
    return w.valid && (at_end ? s.ends_with(v.text->view()) : s.starts_with(v.text->view()));
  };
  const Value& affix = call.args[1];
  if (affix.is_text()) return Value::of_bool(matches(affix));
  if (!affix.is(Kind::tuple)) return call.fail("takes a text or a tuple of texts");
  for (const Value& one : *affix.list) {
    LLMRT_TRY(call.run.charge(call.at, 1));
    if (!one.is_text()) return call.fail("takes a text or a tuple of texts");
    if (matches(one)) return Value::of_bool(true);
  }
  return Value::of_bool(false);
}
Result<Value> text_startswith(Call& call) { return has_affix(call, false); }
Result<Value> text_endswith(Call& call) { return has_affix(call, true); }

// --- putting together

Result<Value> text_replace(Call& call) {
  LLMRT_ASSIGN(const Text old_text, call.text(1));
  LLMRT_ASSIGN(const Text new_text, call.text(2));
  LLMRT_ASSIGN(const int64_t count, call.integer(3, -1));
  return replace(call, self_text(call), old_text, new_text, count);
}

Result<Value> text_join(Call& call) {
  LLMRT_ASSIGN(const List* items, call.run.collect(call.at, call.args[1]));
  TextBuilder out = call.run.builder();
  for (uint32_t i = 0; i < items->size && !out.over_limit(); ++i) {
    if (!items->items[i].is_text()) return call.fail("all items must be texts");
    if (i) out.append(self_text(call));
    out.append(*items->items[i].text);
  }
  return call.run.finish(call.at, out);
}

enum class Side { left, center, right };
Result<Value> pad(Call& call, Side side) {
  LLMRT_ASSIGN(const int64_t width, call.integer(1, 80));
  char fill = ' ';
  if (call.given(2)) {
    LLMRT_ASSIGN(const Text t, call.text(2));
    if (t.size != 1) return call.fail("the fill must be one ASCII character");
    fill = t.data[0];
  }
  const Text& text = self_text(call);
  const int64_t missing = width - length_of(call.args[0]);
  if (missing <= 0) return call.args[0];
  LLMRT_TRY(call.run.room_for(call.at, static_cast<uint64_t>(missing) * 2 + text.size));
  // as CPython's center
  const int64_t left = side == Side::left    ? 0
                       : side == Side::right ? missing
                                             : missing / 2 + (missing & width & 1);
  TextBuilder out = call.run.builder();
  out.append_many(fill, static_cast<size_t>(left), false);
  out.append(text);
  out.append_many(fill, static_cast<size_t>(missing - left), false);
  return call.run.finish(call.at, out);
}
Result<Value> text_ljust(Call& call) { return pad(call, Side::left); }
Result<Value> text_rjust(Call& call) { return pad(call, Side::right); }
Result<Value> text_center(Call& call) { return pad(call, Side::center); }

Result<Value> text_zfill(Call& call) {
  LLMRT_ASSIGN(const int64_t width, call.integer(1, 0));
  const Text& text = self_text(call);
  const int64_t missing = width - length_of(call.args[0]);
  if (missing <= 0) return call.args[0];
  LLMRT_TRY(call.run.room_for(call.at, static_cast<uint64_t>(missing) * 2 + text.size));
  const size_t sign = text.size > 0 && (text.data[0] == '+' || text.data[0] == '-') ? 1 : 0;
  TextBuilder out = call.run.builder();
  out.append(text.slice(0, sign));
  out.append_many('0', static_cast<size_t>(missing), false);
  out.append(text.slice(sign, text.size - sign));
  return call.run.finish(call.at, out);
}

constexpr Builtin kTextMethods[] = {
    {"center", text_center, 2, {"self", "width", "fillchar"}},
    {"count", text_count, 2, {"self", "sub", "start", "end"}},
    {"encode", nullptr, 0, {}},
    {"endswith", text_endswith, 2, {"self", "suffix", "start", "end"}},
    {"expandtabs", nullptr, 0, {}},
    {"find", text_find, 2, {"self", "sub", "start", "end"}},
    {"format", format_braces, 1, {"self"}, true},
    {"format_map", nullptr, 0, {}},
    {"index", text_index, 2, {"self", "sub", "start", "end"}},
    {"join", text_join, 2, {"self", "iterable"}},
    {"ljust", text_ljust, 2, {"self", "width", "fillchar"}},
    {"lstrip", text_lstrip, 1, {"self", "chars"}},
    {"maketrans", nullptr, 0, {}},
    {"partition", text_partition, 2, {"self", "sep"}},
    {"removeprefix", text_removeprefix, 2, {"self", "prefix"}},
    {"removesuffix", text_removesuffix, 2, {"self", "suffix"}},
    {"replace", text_replace, 3, {"self", "old", "new", "count"}},
    {"rfind", text_rfind, 2, {"self", "sub", "start", "end"}},
    {"rindex", text_rindex, 2, {"self", "sub", "start", "end"}},
    {"rjust", text_rjust, 2, {"self", "width", "fillchar"}},
    {"rpartition", text_rpartition, 2, {"self", "sep"}},
    {"rsplit", text_rsplit, 1, {"self", "sep", "maxsplit"}},
    {"rstrip", text_rstrip, 1, {"self", "chars"}},
    {"split", text_split, 1, {"self", "sep", "maxsplit"}},
    {"splitlines", text_splitlines, 1, {"self", "keepends"}},
    {"startswith", text_startswith, 2, {"self", "prefix", "start", "end"}},
    {"strip", text_strip, 1, {"self", "chars"}},
    {"translate", nullptr, 0, {}},
    {"zfill", text_zfill, 2, {"self", "width"}},
};

}  // namespace

Result<Value> strip(Call& call, const Text& text, const Value& characters, bool left, bool right) {
  LLMRT_TRY(charge_text(call, text));
  std::string_view s = text.view();
  if (characters.is(Kind::unbound) || characters.is(Kind::none)) {
    if (left) s = strip_space_left(s);
    if (right) s = strip_space_right(s);
  } else {
    if (!characters.is_text()) return call.fail("the characters to strip must be a text");
    const Text& set = *characters.text;
    const auto in_set = [&](std::string_view one) {
      for (size_t i = 0; i < set.size; i += utf8_length(set.data[i]))
        if (set.view().substr(i, utf8_length(set.data[i])) == one) return true;
      return false;
    };
    LLMRT_TRY(call.run.charge(call.at, uint64_t{text.size} * set.size / 1024));
    while (left && !s.empty() && in_set(s.substr(0, utf8_length(s[0]))))
      s = s.substr(utf8_length(s[0]));
    while (right && !s.empty()) {
      size_t at = s.size() - 1;
      while (at > 0 && is_continuation(s[at])) --at;
      if (!in_set(s.substr(at))) break;
      s = s.substr(0, at);
    }
  }
  return give(call, text.slice(static_cast<size_t>(s.data() - text.data), s.size()));
}

Result<Value> replace(Call& call, const Text& text, const Text& old_text, const Text& new_text,
                      int64_t count) {
  LLMRT_TRY(charge_text(call, text));
  TextBuilder out = call.run.builder();
  const std::string_view s = text.view();
  size_t begin = 0;
  if (old_text.size == 0) {  // the new text before each character and at the end
    while (count != 0 && !out.over_limit()) {
      out.append(new_text);
      --count;
      if (begin == s.size()) break;
      const uint32_t n = utf8_length(s[begin]);
      out.append(text.slice(begin, n));
      begin += n;
    }
  } else {
    for (size_t found; count != 0 && (found = s.find(old_text.view(), begin)) != s.npos; --count) {
      out.append(text.slice(begin, found - begin));
      out.append(new_text);
      begin = found + old_text.size;
      if (out.over_limit()) break;
    }
  }
  out.append(text.slice(begin, s.size() - begin));
  return call.run.finish(call.at, out);
}

std::span<const Builtin> text_method_table() { return kTextMethods; }

}  // namespace llmrt::jinja
