#include "tokenizer/chat_template_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tokenizer/chat_template_unicode.h"

namespace llmrt::jinja {

std::string real_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto [end, ec] =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  (void)ec;  // 24 characters at most
  std::string digits;
  int exponent = 0;
  const bool negative = buffer[0] == '-';
  for (const char* p = buffer + (negative ? 1 : 0); p < end; ++p) {
    if (*p == 'e') {
      std::from_chars(p[1] == '+' ? p + 2 : p + 1, end, exponent);
      break;
    }
    if (*p != '.') digits += *p;
  }
  const int n = static_cast<int>(digits.size());
  std::string out = negative ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (n > 1) out.append(".").append(digits, 1);
    char e[8];
    const int size = std::abs(exponent);
    const auto done = std::to_chars(e, e + sizeof e, size);
    out.append(exponent < 0 ? "e-" : "e+").append(size < 10 ? "0" : "").append(e, done.ptr);
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits);
  } else if (n <= exponent + 1) {
    out.append(digits).append(static_cast<size_t>(exponent + 1 - n), '0').append(".0");
  } else {
    const auto whole = static_cast<size_t>(exponent + 1);
    out.append(digits, 0, whole).append(".").append(digits, whole);
  }
  return out;
}

namespace {

void write_integer(TextBuilder& out, int64_t value, bool input) {
  char buffer[24];
  const auto done = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(std::string_view(buffer, static_cast<size_t>(done.ptr - buffer)), input);
}

void write_hex_escape(TextBuilder& out, char letter, uint32_t value, int n_digits, bool input) {
  static constexpr char kHex[] = "0123456789abcdef";
  char b[12] = {'\\', letter};
  for (int i = 0; i < n_digits; ++i) b[2 + i] = kHex[(value >> (4 * (n_digits - 1 - i))) & 15];
  out.append(std::string_view(b, static_cast<size_t>(n_digits + 2)), input);
}

void write_text_repr(TextBuilder& out, const Text& text) {
  const std::string_view s = text.view();
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  const bool marks_input = text.any_input();
  out.append(quote, marks_input);
  const char* p = text.data;
  const char* end = p + text.size;
  while (p < end && !out.over_limit()) {
    const auto at = static_cast<size_t>(p - text.data);
    const bool input = text.is_input(at);
    const uint32_t cp = next_code_point(p, end);
    if (cp == '\\' || cp == static_cast<uint8_t>(quote)) {
      out.append('\\', input);
      out.append(static_cast<char>(cp), input);
    } else if (cp == '\n' || cp == '\r' || cp == '\t') {
      out.append(cp == '\n' ? "\\n" : cp == '\r' ? "\\r" : "\\t", input);
    } else if (is_printable(cp)) {
      out.append(text.slice(at, static_cast<size_t>(p - text.data) - at));
    } else if (cp < 0x100) {
      write_hex_escape(out, 'x', cp, 2, input);
    } else if (cp < 0x10000) {
      write_hex_escape(out, 'u', cp, 4, input);
    } else {
      write_hex_escape(out, 'U', cp, 8, input);
    }
  }
  out.append(quote, marks_input);
}

Status too_deep() {
  return error(Code::template_error, "value nested deeper than %u levels", kMaxWriteDepth);
}

Status write_items(TextBuilder& out, const List& list, uint32_t depth) {
  for (uint32_t i = 0; i < list.size && !out.over_limit(); ++i) {
    if (i) out.append(", ", false);
    LLMRT_TRY(write_repr(out, list.items[i], depth + 1));
  }
  return Status();
}

Status write_dict_repr(TextBuilder& out, const Dict& dict, uint32_t depth) {
  out.append('{', false);
  for (uint32_t i = 0; i < dict.size && !out.over_limit(); ++i) {
    if (i) out.append(", ", false);
    LLMRT_TRY(write_repr(out, dict.entries[i].key, depth + 1));
    out.append(": ", false);
    LLMRT_TRY(write_repr(out, dict.entries[i].value, depth + 1));
  }
  out.append('}', false);
  return Status();
}

Status write_view_repr(TextBuilder& out, const DictView& view, uint32_t depth) {
  using What = DictView::What;
  out.append(view.what == What::keys     ? "dict_keys(["
             : view.what == What::values ? "dict_values(["
                                         : "dict_items([",
             false);
  for (uint32_t i = 0; i < view.dict->size && !out.over_limit(); ++i) {
    const Dict::Entry& e = view.dict->entries[i];
    if (i) out.append(", ", false);
    if (view.what == What::items) out.append('(', false);
    if (view.what != What::values) LLMRT_TRY(write_repr(out, e.key, depth + 1));
    if (view.what == What::items) out.append(", ", false);
    if (view.what != What::keys) LLMRT_TRY(write_repr(out, e.value, depth + 1));
    if (view.what == What::items) out.append(')', false);
  }
  out.append("])", false);
  return Status();
}

void write_range_repr(TextBuilder& out, const Range& range) {
  out.append("range(", false);
  write_integer(out, range.start, false);
  out.append(", ", false);
  write_integer(out, range.stop, false);
  if (range.step != 1) {
    out.append(", ", false);
    write_integer(out, range.step, false);
  }
  out.append(')', false);
}

}  // namespace

Status write_repr(TextBuilder& out, const Value& v, uint32_t depth) {
  if (depth > kMaxWriteDepth) return too_deep();
  switch (v.kind) {
    case Kind::unbound:
    case Kind::undefined:
      out.append("Undefined", false);
      break;
    case Kind::none:
      out.append("None", v.input);
      break;
    case Kind::boolean:
      out.append(v.boolean ? "True" : "False", v.input);
      break;
    case Kind::integer:
      write_integer(out, v.integer, v.input);
      break;
    case Kind::real:
      out.append(real_repr(v.real), v.input);
      break;
    case Kind::big_integer:
      out.append(*v.text);
      break;
    case Kind::text:
      write_text_repr(out, *v.text);
      break;
    case Kind::list:
      out.append('[', false);
      LLMRT_TRY(write_items(out, *v.list, depth));
      out.append(']', false);
      break;
    case Kind::tuple:
      out.append('(', false);
      LLMRT_TRY(write_items(out, *v.list, depth));
      out.append(v.list->size == 1 ? ",)" : ")", false);
      break;
    case Kind::dict:
      return write_dict_repr(out, *v.dict, depth);
    case Kind::dict_view:
      return write_view_repr(out, *v.view, depth);
    case Kind::range:
      write_range_repr(out, *v.range);
      break;
    case Kind::name_space:
      out.append("<Namespace ", false);
      LLMRT_TRY(write_dict_repr(out, *v.dict, depth));
      out.append('>', false);
      break;
    case Kind::generator:
    case Kind::loop:
    case Kind::function:
      return error(Code::template_error, "a %s has no text", type_name(v));
  }
  return Status();
}

Status write_str(TextBuilder& out, const Value& v) {
  if (v.is_text()) {
    out.append(*v.text);
    return Status();
  }
  if (v.is(Kind::undefined)) return Status();
  return write_repr(out, v);
}

// --- json.dumps

namespace {

class JsonWriter {
 public:
  JsonWriter(TextBuilder& out, const JsonStyle& style) : out_(out), style_(style) {}

  Status value(const Value& v, uint32_t depth) {
    if (depth > kMaxWriteDepth) return too_deep();
    input_ |= v.input;
    switch (v.kind) {
      case Kind::none:
        out_.append("null", false);
        return Status();
      case Kind::boolean:
        out_.append(v.boolean ? "true" : "false", false);
        return Status();
      case Kind::integer:
        write_integer(out_, v.integer, false);
        return Status();
      case Kind::big_integer:
        out_.append(v.text->view(), false);
        return Status();
      case Kind::real:
        out_.append(real(v.real), false);
        return Status();
      case Kind::text:
        text(*v.text);
        return Status();
      case Kind::list:
      case Kind::tuple:
        return list(*v.list, depth);
      case Kind::dict:
        return dict(*v.dict, depth);
      default:
        return error(Code::template_error, "tojson: a value of type %s has no JSON form",
                     type_name(v));
    }
  }
  bool input() const { return input_; }

 private:
  static std::string real(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return real_repr(d);
  }

  void text(const Text& t) {
    input_ |= t.any_input();
    out_.append('"', false);
    const char* p = t.data;
    const char* end = p + t.size;
    const char* plain = p;  // [plain, p) is written as it is
    while (p < end) {
      const char* at = p;
      const auto c = static_cast<uint8_t>(*p);
      if (c >= 0x20 && c != '"' && c != '\\' && (!style_.ascii || c < 0x7F)) {
        ++p;
        continue;
      }
      out_.append(std::string_view(plain, static_cast<size_t>(at - plain)), false);
      escape(next_code_point(p, end));
      plain = p;
    }
    out_.append(std::string_view(plain, static_cast<size_t>(end - plain)), false);
    out_.append('"', false);
  }

  void escape(uint32_t cp) {
    switch (cp) {
      case '"':
        out_.append("\\\"", false);
        break;
      case '\\':
        out_.append("\\\\", false);
        break;
      case '\n':
        out_.append("\\n", false);
        break;
      case '\r':
        out_.append("\\r", false);
        break;
      case '\t':
        out_.append("\\t", false);
        break;
      case '\f':
        out_.append("\\f", false);
        break;
      case '\b':
        out_.append("\\b", false);
        break;
      default:
        if (cp < 0x10000) {
          write_hex_escape(out_, 'u', cp, 4, false);
        } else {
          write_hex_escape(out_, 'u', 0xD800 + ((cp - 0x10000) >> 10), 4, false);
          write_hex_escape(out_, 'u', 0xDC00 + ((cp - 0x10000) & 0x3FF), 4, false);
        }
    }
  }

  void line(uint32_t depth) {
    if (!style_.pretty) return;
    out_.append('\n', false);
    for (uint32_t i = 0; i < depth; ++i) out_.append(style_.indent, false);
  }

  Status list(const List& l, uint32_t depth) {
    if (l.size == 0) {
      out_.append("[]", false);
      return Status();
    }
    out_.append('[', false);
    for (uint32_t i = 0; i < l.size && !out_.over_limit(); ++i) {
      if (i) out_.append(style_.item_separator, false);
      line(depth + 1);
      LLMRT_TRY(value(l.items[i], depth + 1));
    }
    line(depth);
    out_.append(']', false);
    return Status();
  }

  // Keys that are scalars become texts, as json.dumps does.
  Status key(const Value& k) {
    switch (k.kind) {
      case Kind::text:
        text(*k.text);
        return Status();
      case Kind::none:
      case Kind::boolean:
      case Kind::integer:
      case Kind::big_integer:
      case Kind::real:
        out_.append('"', false);
        LLMRT_TRY(value(k, 0));
        out_.append('"', false);
        return Status();
      default:
        return error(Code::template_error, "tojson: a key of type %s has no JSON form",
                     type_name(k));
    }
  }

  Status dict(const Dict& d, uint32_t depth) {
    if (d.size == 0) {
      out_.append("{}", false);
      return Status();
    }
    std::vector<const Dict::Entry*> order;
    if (style_.sort_keys) LLMRT_TRY(sorted(d, order));
    out_.append('{', false);
    for (uint32_t i = 0; i < d.size && !out_.over_limit(); ++i) {
      const Dict::Entry& e = order.empty() ? d.entries[i] : *order[i];
      if (i) out_.append(style_.item_separator, false);
      line(depth + 1);
      LLMRT_TRY(key(e.key));
      out_.append(style_.key_separator, false);
      LLMRT_TRY(value(e.value, depth + 1));
    }
    line(depth);
    out_.append('}', false);
    return Status();
  }

  static Status sorted(const Dict& d, std::vector<const Dict::Entry*>& order) {
    for (uint32_t i = 0; i < d.size; ++i) {
      if (d.entries[i].key.is_text() != d.entries[0].key.is_text() ||
          (!d.entries[i].key.is_text() && !d.entries[i].key.is_number()))
        return error(Code::template_error, "tojson: keys of different types cannot be sorted");
      order.push_back(&d.entries[i]);
    }
    std::stable_sort(order.begin(), order.end(), [](const Dict::Entry* a, const Dict::Entry* b) {
      return Comparison().compare(a->key, b->key) == -1;
    });
    return Status();
  }

  TextBuilder& out_;
  const JsonStyle& style_;
  bool input_ = false;
};

}  // namespace

Status write_json(TextBuilder& out, const Value& value, const JsonStyle& style) {
  TextBuilder plain(out.room_left());
  JsonWriter writer(plain, style);
  LLMRT_TRY(writer.value(value, 0));
  if (plain.over_limit()) out.fail_limit();
  out.append(plain.bytes(), writer.input());
  return Status();
}

}  // namespace llmrt::jinja
