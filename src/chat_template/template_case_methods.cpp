// Methods of texts about letters: their case, and what a text is made of. Each byte keeps its origin.
#include "base/utf8.h"
#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"
#include "chat_template/template_unicode.h"

namespace llmrt::jinja {

namespace {

bool case_ignorable(uint32_t cp) { return cp == '\'' || cp == '.' || cp == 0x2019 || cp == 0xAD; }

// Python's rule for the capital sigma: final where a cased letter stands before it and none after it.
bool final_sigma(const Text& text, size_t offset) {
  bool cased_before = false;
  for (size_t i = offset; i > 0;) {
    do --i;
    while (i > 0 && is_continuation(text.data[i]));
    const char* p = text.data + i;
    const uint32_t cp = next_code_point(p, text.data + offset);
    if (case_ignorable(cp)) continue;
    cased_before = is_cased(cp);
    break;
  }
  if (!cased_before) return false;
  CodePoints after(text.slice(offset + 2, text.size - offset - 2));
  while (after.next())
    if (!case_ignorable(after.cp)) return !is_cased(after.cp);
  return true;
}

void append_lower(TextBuilder& out, const Text& text, const CodePoints& c) {
  const bool input = text.is_input(c.offset);
  if (c.cp == 0x3A3 && final_sigma(text, c.offset))
    out.append("\xCF\x82", input);
  else
    append_cased(out, c.cp, Case::lower, input);
}

Result<Value> text_lower(Call& call) { return cased(call, self_text(call), 0); }
Result<Value> text_upper(Call& call) { return cased(call, self_text(call), 1); }

Result<Value> text_title(Call& call) {  // str.title: a letter after a letter is lower
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  TextBuilder out = call.run.builder();
  bool after_cased = false;
  for (CodePoints c(text); c.next();) {
    if (after_cased)
      append_lower(out, text, c);
    else
      append_cased(out, c.cp, Case::title, text.is_input(c.offset));
    after_cased = is_cased(c.cp);
  }
  return call.run.finish(call.at, out);
}

Result<Value> text_capitalize(Call& call) {
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  TextBuilder out = call.run.builder();
  for (CodePoints c(text); c.next();) {
    if (c.offset == 0)
      append_cased(out, c.cp, Case::title, text.is_input(0));
    else
      append_lower(out, text, c);
  }
  return call.run.finish(call.at, out);
}

Result<Value> text_swapcase(Call& call) {
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  TextBuilder out = call.run.builder();
  for (CodePoints c(text); c.next();) {
    if (is_upper(c.cp))
      append_lower(out, text, c);
    else
      append_cased(out, c.cp, Case::upper, text.is_input(c.offset));
  }
  return call.run.finish(call.at, out);
}

template <class Predicate>
Result<Value> every(Call& call, Predicate predicate, bool of_empty = false) {
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  CodePoints c(text);
  while (c.next())
    if (!predicate(c.cp)) return Value::of_bool(false);
  return Value::of_bool(text.size > 0 || of_empty);
}
Result<Value> text_isalnum(Call& call) {
  return every(call, [](uint32_t cp) { return is_letter(cp) || is_numeric(cp); });
}
Result<Value> text_isalpha(Call& call) { return every(call, is_letter); }
Result<Value> text_isascii(Call& call) {
  return every(
      call, [](uint32_t cp) { return cp < 0x80; }, true);
}
Result<Value> text_isdecimal(Call& call) { return every(call, is_decimal); }
Result<Value> text_isdigit(Call& call) { return every(call, is_digit); }
Result<Value> text_isnumeric(Call& call) { return every(call, is_numeric); }
Result<Value> text_isspace(Call& call) { return every(call, is_space); }
Result<Value> text_isprintable(Call& call) { return every(call, is_printable, true); }
Result<Value> text_isidentifier(Call& call) {
  bool first = true;
  return every(call, [&first](uint32_t cp) {
    const bool good = cp == '_' || is_letter(cp) || (!first && is_decimal(cp));
    first = false;
    return good;
  });
}
Result<Value> text_istitle(Call& call) {
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  bool any = false;
  bool after_cased = false;
  for (CodePoints c(text); c.next();) {
    const bool capital = is_upper(c.cp) || is_title(c.cp);
    if (capital == after_cased && (capital || is_lower(c.cp))) return Value::of_bool(false);
    after_cased = is_cased(c.cp);
    any = any || after_cased;
  }
  return Value::of_bool(any);
}
Result<Value> one_case(Call& call, bool upper) {
  const Text& text = self_text(call);
  LLMRT_TRY(charge_text(call, text));
  bool any = false;
  for (CodePoints c(text); c.next();) {
    if (upper ? is_lower(c.cp) || is_title(c.cp) : is_upper(c.cp) || is_title(c.cp))
      return Value::of_bool(false);
    any = any || is_cased(c.cp);
  }
  return Value::of_bool(any);
}
Result<Value> text_isupper(Call& call) { return one_case(call, true); }
Result<Value> text_islower(Call& call) { return one_case(call, false); }

constexpr Builtin kCaseMethods[] = {
    {"capitalize", text_capitalize, 1, {"self"}},
    {"casefold", text_lower, 1, {"self"}},
    {"isalnum", text_isalnum, 1, {"self"}},
    {"isalpha", text_isalpha, 1, {"self"}},
    {"isascii", text_isascii, 1, {"self"}},
    {"isdecimal", text_isdecimal, 1, {"self"}},
    {"isdigit", text_isdigit, 1, {"self"}},
    {"isidentifier", text_isidentifier, 1, {"self"}},
    {"islower", text_islower, 1, {"self"}},
    {"isnumeric", text_isnumeric, 1, {"self"}},
    {"isprintable", text_isprintable, 1, {"self"}},
    {"isspace", text_isspace, 1, {"self"}},
    {"istitle", text_istitle, 1, {"self"}},
    {"isupper", text_isupper, 1, {"self"}},
    {"lower", text_lower, 1, {"self"}},
    {"swapcase", text_swapcase, 1, {"self"}},
    {"title", text_title, 1, {"self"}},
    {"upper", text_upper, 1, {"self"}},
};

}  // namespace

Result<Value> cased(Call& call, const Text& text, int to) {
  LLMRT_TRY(charge_text(call, text));
  TextBuilder out = call.run.builder();
  CodePoints c(text);
  while (c.next() && !out.over_limit()) {
    if (to == 0)
      append_lower(out, text, c);
    else
      append_cased(out, c.cp, Case::upper, text.is_input(c.offset));
  }
  return call.run.finish(call.at, out);
}

std::span<const Builtin> case_method_table() { return kCaseMethods; }

}  // namespace llmrt::jinja
