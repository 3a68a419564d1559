// json.dumps.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "chat_template/template_text.h"
#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

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
        out_.append(std::to_string(v.integer), false);
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
