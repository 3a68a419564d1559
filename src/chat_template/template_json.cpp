#include "chat_template/template_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "chat_template/template_builtins.h"
#include "chat_template/template_eval.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

Status JsonReader::fail(size_t at, const char* what) const {
  return error(Code::invalid_argument, "not JSON at byte %zu: %s", at, what);
}

void JsonReader::skip_blanks() {
  while (at_ < json_.size() &&
         (json_[at_] == ' ' || json_[at_] == '\n' || json_[at_] == '\t' || json_[at_] == '\r'))
    ++at_;
}

Result<JsonReader::Token> JsonReader::next() {
  skip_blanks();
  begin_ = at_;
  if (expect_ == Expect::nothing) {
    if (at_ != json_.size()) return fail(at_, "more text after the value");
    return Token::end;
  }
  if (at_ == json_.size()) return fail(at_, "the text ends too early");
  if (expect_ == Expect::comma_or_end) {
    if (json_[at_] != ',') return end_of_container();
    ++at_;
    skip_blanks();
    begin_ = at_;
    if (at_ == json_.size()) return fail(at_, "the text ends too early");
    expect_ = open_.back() == '{' ? Expect::name : Expect::value;
  }
  const bool may_end = expect_ == Expect::value_or_end || expect_ == Expect::name_or_end;
  if (may_end && (json_[at_] == ']' || json_[at_] == '}')) return end_of_container();
  return expect_ == Expect::name || expect_ == Expect::name_or_end ? name() : value();
}

Result<JsonReader::Token> JsonReader::end_of_container() {
  const bool object = open_.back() == '{';
  if (json_[at_] != (object ? '}' : ']'))
    return fail(at_, object ? "expected ',' or '}'" : "expected ',' or ']'");
  ++at_;
  open_.pop_back();
  value_done();
  return object ? Token::end_object : Token::end_array;
}

Result<JsonReader::Token> JsonReader::name() {
  if (json_[at_] != '"') return fail(at_, "expected a member's name");
  LLMRT_TRY(read_string());
  skip_blanks();
  if (at_ == json_.size() || json_[at_] != ':') return fail(at_, "expected ':'");
  ++at_;
  expect_ = Expect::value;
  return Token::key;
}

Result<JsonReader::Token> JsonReader::value() {
  Token token = Token::number;
  switch (json_[at_]) {
    case '{':
    case '[':
      if (open_.size() >= kMaxJsonDepth) return fail(at_, "nested deeper than 64 levels");
      open_ += json_[at_++];
      expect_ = open_.back() == '{' ? Expect::name_or_end : Expect::value_or_end;
      return open_.back() == '{' ? Token::begin_object : Token::begin_array;
    case '"':
      LLMRT_TRY(read_string());
      token = Token::string;
      break;
    case 't': {
      LLMRT_ASSIGN(token, word("true", Token::true_value));
      break;
    }
    case 'f': {
      LLMRT_ASSIGN(token, word("false", Token::false_value));
      break;
    }
    case 'n': {
      LLMRT_ASSIGN(token, word("null", Token::null_value));
      break;
    }
    default:
      LLMRT_TRY(read_number());
  }
  value_done();
  return token;
}

Result<JsonReader::Token> JsonReader::word(std::string_view spelling, Token token) {
  if (!json_.substr(at_).starts_with(spelling)) return fail(at_, "expected a value");
  at_ += spelling.size();
  return token;
}

Status JsonReader::read_string() {
  text_.clear();
  ++at_;
  for (;;) {
    size_t plain = at_;
    while (plain < json_.size() && json_[plain] != '"' && json_[plain] != '\\' &&
           static_cast<uint8_t>(json_[plain]) >= 0x20)
      ++plain;
    const std::string_view run = json_.substr(at_, plain - at_);
    const size_t bad = utf8_error_offset(run);
    if (bad != std::string_view::npos) return fail(at_ + bad, "bytes that are not UTF-8");
    text_ += run;
    at_ = plain;
    if (at_ == json_.size()) return fail(at_, "a string without its end");
    if (json_[at_] == '"') {
      ++at_;
      return Status();
    }
    if (json_[at_] != '\\') return fail(at_, "a control character in a string");
    LLMRT_TRY(read_escape());
  }
}

Status JsonReader::read_escape() {
  const size_t escape = at_;
  const char c = at_ + 1 < json_.size() ? json_[at_ + 1] : '\0';
  at_ += 2;
  const auto hex4 = [&](uint32_t* out) {
    *out = 0;
    for (int k = 0; k < 4; ++k, ++at_) {
      const char h = at_ < json_.size() ? json_[at_] : '\0';
      const int v = h >= '0' && h <= '9'   ? h - '0'
                    : h >= 'a' && h <= 'f' ? h - 'a' + 10
                    : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                           : -1;
      if (v < 0) return false;
      *out = *out * 16 + static_cast<uint32_t>(v);
    }
    return true;
  };
  switch (c) {
    case 'n':
      text_ += '\n';
      return Status();
    case 't':
      text_ += '\t';
      return Status();
    case 'r':
      text_ += '\r';
      return Status();
    case 'b':
      text_ += '\b';
      return Status();
    case 'f':
      text_ += '\f';
      return Status();
    case '"':
    case '\\':
    case '/':
      text_ += c;
      return Status();
    case 'u':
      break;
    default:
      return fail(escape, "an unknown escape");
  }
  uint32_t cp = 0;
  if (!hex4(&cp)) return fail(escape, "\\u needs 4 hexadecimal digits");
  if (cp >= 0xD800 && cp < 0xE000) {
    uint32_t low = 0;
    if (cp >= 0xDC00 || !json_.substr(at_).starts_with("\\u"))
      return fail(escape, "half of a surrogate pair");
    at_ += 2;
    if (!hex4(&low) || low < 0xDC00 || low >= 0xE000)
      return fail(escape, "half of a surrogate pair");
    cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
  }
  TextBuilder one(4);
  one.append_code_point(cp, false);
  text_ += one.bytes();
  return Status();
}

Status JsonReader::read_number() {
  size_t i = at_;
  const auto digits = [&] {
    const size_t first = i;
    while (i < json_.size() && json_[i] >= '0' && json_[i] <= '9') ++i;
    return i - first;
  };
  if (json_[i] == '-') ++i;
  const size_t whole = i;
  const size_t n = digits();
  if (n == 0) return fail(at_, "expected a value");
  if (n > 1 && json_[whole] == '0') return fail(at_, "a number with a leading zero");
  if (i < json_.size() && json_[i] == '.') {
    ++i;
    if (digits() == 0) return fail(at_, "a number without digits after its point");
  }
  if (i < json_.size() && (json_[i] == 'e' || json_[i] == 'E')) {
    ++i;
    if (i < json_.size() && (json_[i] == '+' || json_[i] == '-')) ++i;
    if (digits() == 0) return fail(at_, "a number without digits in its exponent");
  }
  at_ = i;
  return Status();
}

Status JsonReader::skip(Token first) {
  if (first != Token::begin_object && first != Token::begin_array) return Status();
  for (const size_t depth = open_.size(); open_.size() >= depth;) {
    LLMRT_ASSIGN(const Token token, next());
    (void)token;
  }
  return Status();
}

namespace {

Value number_value(std::string_view spelling, Arena& arena, bool input) {
  Value value;
  const char* end = spelling.data() + spelling.size();
  if (spelling.find_first_of(".eE") == spelling.npos) {
    int64_t i = 0;
    const auto [p, ec] = std::from_chars(spelling.data(), end, i);
    if (ec == std::errc()) {
      value = Value::of_int(i);
    } else {
      value.kind = Kind::big_integer;
      value.text = copy_text(arena, spelling, input);
    }
  } else {
    double d = 0;
    const auto [p, ec] = std::from_chars(spelling.data(), end, d);
    if (ec == std::errc::result_out_of_range) {
      const size_t e = spelling.find_first_of("eE");
      d = e != spelling.npos && spelling[e + 1] == '-' ? 0.0 : HUGE_VAL;
      if (spelling[0] == '-') d = -d;
    }
    value = Value::of_real(d);
  }
  value.input = input;
  return value;
}

}  // namespace

Result<Value> json_value(std::string_view json, Arena& arena, bool input,
                         std::span<const std::string_view> trusted) {
  using Token = JsonReader::Token;
  struct Open {
    Value container;
    Value key;
  };
  JsonReader reader(json);
  std::vector<Open> open;
  Value root;
  const bool outer_input = input;
  for (;;) {
    LLMRT_ASSIGN(const Token token, reader.next());
    if (arena.over_limit())
      return error(Code::invalid_argument, "JSON of %zu bytes is too large here", json.size());
    Value value;
    switch (token) {
      case Token::end:
        return root;
      case Token::key:
        if (open.size() == 1) {
          const bool named = std::find(trusted.begin(), trusted.end(),
                                       std::string_view(reader.text())) != trusted.end();
          input = outer_input && !named;
        }
        open.back().key = Value::of_text(copy_text(arena, reader.text(), input));
        continue;
      case Token::end_object:
      case Token::end_array:
        open.pop_back();
        continue;
      case Token::begin_object:
        value = Value::of_dict(arena.make<Dict>());
        break;
      case Token::begin_array:
        value = Value::of_list(arena.make<List>());
        break;
      case Token::string:
        value = Value::of_text(copy_text(arena, reader.text(), input));
        break;
      case Token::number:
        value = number_value(reader.raw(), arena, input);
        break;
      case Token::true_value:
        value = Value::of_bool(true);
        break;
      case Token::false_value:
        value = Value::of_bool(false);
        break;
      case Token::null_value:
        value = Value::of_none();
        break;
    }
    value.input = input;
    if (open.empty()) {
      root = value;
    } else if (open.back().container.is(Kind::dict)) {
      open.back().container.dict->set(arena, open.back().key, value);
    } else {
      open.back().container.list->push(arena, value);
    }
    if (token == Token::begin_object || token == Token::begin_array)
      open.push_back({value, Value()});
  }
}

// Beyond jinja2: some templates' own engines have it.
Result<Value> filter_from_json(Call& call) {
  LLMRT_ASSIGN(const Text text, call.text(0));
  LLMRT_TRY(call.run.charge(call.at, text.size / 16));
  Result<Value> value = json_value(text.view(), call.run.arena(), text.any_input());
  if (!value.ok()) return call.fail(value.status().message());
  return value;
}

}  // namespace llmrt::jinja
