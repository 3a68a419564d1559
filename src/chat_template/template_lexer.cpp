#include "chat_template/template_lexer.h"

#include <charconv>

#include "chat_template/template_unicode.h"
#include "tokenizer/unicode.h"

namespace llmrt::jinja {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<uint8_t>(c) >= 0x80;
}
int hex_value(char c) {
  if (digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

struct Operator {
  char spelling[3];
  TokenType type;
};
// Two characters before one.
constexpr Operator kOperators[] = {
    {"//", TokenType::floor_div}, {"**", TokenType::pow},      {"==", TokenType::eq},
    {"!=", TokenType::ne},        {">=", TokenType::ge},       {"<=", TokenType::le},
    {"+", TokenType::add},        {"-", TokenType::sub},       {"/", TokenType::div},
    {"*", TokenType::mul},        {"%", TokenType::mod},       {"~", TokenType::tilde},
    {"[", TokenType::lbracket},   {"]", TokenType::rbracket},  {"(", TokenType::lparen},
    {")", TokenType::rparen},     {"{", TokenType::lbrace},    {"}", TokenType::rbrace},
    {">", TokenType::gt},         {"<", TokenType::lt},        {"=", TokenType::assign},
    {".", TokenType::dot},        {":", TokenType::colon},     {"|", TokenType::pipe},
    {",", TokenType::comma},      {";", TokenType::semicolon},
};

class Lexer {
 public:
  Lexer(const Source& source, Arena& constants)
      : source_(source), text_(source.text()), constants_(constants) {}

  Result<std::vector<LexToken>> run() {
    while (pos_ < text_.size()) LLMRT_TRY(root());
    push(TokenType::end, pos_);
    return std::move(tokens_);
  }

 private:
  std::string_view rest(size_t from) const { return text_.substr(from); }
  char at(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  Status fail(size_t where, std::string_view sentence) const {
    return source_.error_at(where, sentence);
  }

  LexToken& push(TokenType type, size_t where) {
    tokens_.emplace_back();
    tokens_.back().type = type;
    tokens_.back().at = static_cast<uint32_t>(where);
    return tokens_.back();
  }
  void push_data(size_t where, std::string_view data) {
    if (!data.empty()) push(TokenType::data, where).word = data;
  }
  void skip_space() { pos_ = text_.size() - strip_space_left(rest(pos_)).size(); }

  // The text before a tag that begins at `tag` with the sign `sign`.
  std::string_view trimmed_before(size_t begin, size_t tag, char sign, bool is_variable) const {
    std::string_view data = text_.substr(begin, tag - begin);
    if (sign == '-') return strip_space_right(data);
    if (sign == '+' || is_variable) return data;
    const size_t line_end = data.rfind('\n');
    const bool line_starting = begin == 0 || text_[begin - 1] == '\n';
    if (line_end == data.npos && !line_starting) return data;
    const size_t line = line_end == data.npos ? 0 : line_end + 1;
    return strip_space_left(data.substr(line)).empty() ? data.substr(0, line) : data;
  }

  Status root() {
    const size_t begin = pos_;
    size_t tag = begin;
    for (;; ++tag) {
      tag = text_.find('{', tag);
      if (tag == text_.npos || tag + 1 >= text_.size()) {
        push_data(begin, rest(begin));
        pos_ = text_.size();
        return Status();
      }
      const char c = text_[tag + 1];
      if (c == '%' || c == '{' || c == '#') break;
    }
    const char kind = text_[tag + 1];
    pos_ = tag + 2;
    char sign = 0;
    if (at(pos_) == '-' || at(pos_) == '+') sign = text_[pos_++];
    push_data(begin, trimmed_before(begin, tag, sign, kind == '{'));
    if (kind == '#') return comment(tag);
    if (kind == '%' && raw_begins()) return raw(tag);
    push(kind == '%' ? TokenType::block_begin : TokenType::variable_begin, tag);
    return inside(tag, kind == '%');
  }

  Status comment(size_t tag) {
    const size_t end = text_.find("#}", pos_);
    if (end == text_.npos) return fail(tag, "a comment that begins here has no end");
    const char sign = end > pos_ ? text_[end - 1] : '\0';
    pos_ = end + 2;
    after_tag(sign);
    return Status();
  }

  void after_tag(char sign) {
    if (sign == '-')
      skip_space();
    else if (sign != '+' && at(pos_) == '\n')
      ++pos_;
  }

  // "raw" and the end of its tag; moves past it if so.
  bool raw_begins() {
    const std::string_view s = strip_space_left(rest(pos_));
    if (!s.starts_with("raw")) return false;
    const std::string_view end = strip_space_left(s.substr(3));
    if (end.starts_with("-%}")) {
      pos_ = text_.size() - end.size() + 3;
      skip_space();
      return true;
    }
    if (!end.starts_with("%}")) return false;
    pos_ = text_.size() - end.size() + 2;
    return true;
  }

  Status raw(size_t tag) {
    const size_t begin = pos_;
    for (size_t i = begin; (i = text_.find("{%", i)) != text_.npos; i += 2) {
      size_t p = i + 2;
      char sign = 0;
      if (at(p) == '-' || at(p) == '+') sign = text_[p++];
      std::string_view s = strip_space_left(rest(p));
      if (!s.starts_with("endraw")) continue;
      s = strip_space_left(s.substr(6));
      const char end_sign = s.starts_with("-%}") ? '-' : s.starts_with("+%}") ? '+' : '\0';
      if (end_sign) s = s.substr(1);
      if (!s.starts_with("%}")) continue;
      push_data(begin, trimmed_before(begin, i, sign, false));
      pos_ = text_.size() - s.size() + 2;
      after_tag(end_sign);
      return Status();
    }
    return fail(tag, "a raw block that begins here has no endraw");
  }

  // Tokens up to the end of a {% or {{ tag. Inside brackets "%}" and "}}" are operators.
  Status inside(size_t tag, bool is_block) {
    std::string brackets;
    while (pos_ < text_.size()) {
      if (brackets.empty() && tag_ends(is_block)) return Status();
      const char c = text_[pos_];
      const char* p = text_.data() + pos_;
      if (is_space(next_code_point(p, text_.data() + text_.size()))) {
        skip_space();
      } else if (digit(c)) {
        LLMRT_TRY(number());
      } else if (name_start(c)) {
        const size_t begin = pos_;
        while (name_start(at(pos_)) || digit(at(pos_))) ++pos_;
        push(TokenType::name, begin).word = text_.substr(begin, pos_ - begin);
      } else if (c == '\'' || c == '"') {
        LLMRT_TRY(literal());
      } else {
        LLMRT_TRY(op(brackets));
      }
    }
    return fail(tag, is_block ? "a {% tag that begins here has no end"
                              : "a {{ tag that begins here has no end");
  }

  bool tag_ends(bool is_block) {
    const std::string_view s = rest(pos_);
    const std::string_view end = is_block ? "%}" : "}}";
    char sign = 0;
    if (s[0] == '-' || (is_block && s[0] == '+')) sign = s[0];
    if (!s.substr(sign ? 1 : 0).starts_with(end)) return false;
    push(is_block ? TokenType::block_end : TokenType::variable_end, pos_);
    pos_ += (sign ? 3 : 2);
    if (is_block)
      after_tag(sign);
    else if (sign == '-')
      skip_space();
    return true;
  }

  Status op(std::string& brackets) {
    for (const Operator& o : kOperators) {
      const std::string_view spelling(o.spelling);
      if (!rest(pos_).starts_with(spelling)) continue;
      const char c = spelling[0];
      if (c == '(' || c == '[' || c == '{') brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
      if (c == ')' || c == ']' || c == '}') {
        if (brackets.empty()) return fail(pos_, phrase("unexpected '", c, "'"));
        if (brackets.back() != c)
          return fail(pos_, phrase("unexpected '", c, "', expected '", brackets.back(), "'"));
        brackets.pop_back();
      }
      push(o.type, pos_);
      pos_ += spelling.size();
      return Status();
    }
    const char* p = text_.data() + pos_;
    const char* begin = p;
    next_code_point(p, text_.data() + text_.size());
    return fail(pos_, phrase("unexpected character '",
                             std::string_view(begin, static_cast<size_t>(p - begin)), "'"));
  }

  size_t digits_from(size_t i) const {  // digits, single underscores between them
    while (digit(at(i)) || (at(i) == '_' && digit(at(i + 1)))) ++i;
    return i;
  }

  Status number() {
    const size_t begin = pos_;
    size_t end = digits_from(begin);
    bool real = false;
    if (begin == 0 || text_[begin - 1] != '.') {  // "x.0.5" is two subscripts
      size_t i = end;
      if (at(i) == '.' && digit(at(i + 1))) {
        i = digits_from(i + 1);
        real = true;
        end = i;
      }
      if (at(i) == 'e' || at(i) == 'E') {
        const size_t sign = at(i + 1) == '+' || at(i + 1) == '-' ? 1 : 0;
        if (digit(at(i + 1 + sign))) {
          end = digits_from(i + 1 + sign);
          real = true;
        }
      }
    }
    int base = 10;
    if (!real && text_[begin] == '0') {
      const char x = static_cast<char>(at(begin + 1) | 0x20);
      const int wanted = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 10;
      size_t i = begin + 2;
      const auto fits = [&](size_t k) {
        return hex_value(at(k)) >= 0 && hex_value(at(k)) < wanted;
      };
      while (wanted != 10 && (fits(i) || (at(i) == '_' && fits(i + 1)))) ++i;
      if (wanted != 10 && i > begin + 2) {
        base = wanted;
        end = i;
      } else {  // "0", "00": a zero; "012" is a zero and the number 12, as in jinja2
        end = begin + 1;
        while (at(end) == '0' || (at(end) == '_' && at(end + 1) == '0')) ++end;
      }
    }
    std::string digits;
    for (size_t i = begin + (base == 10 ? 0 : 2); i < end; ++i)
      if (text_[i] != '_') digits += text_[i];
    pos_ = end;
    const char* last = digits.data() + digits.size();
    if (real) {
      double d = 0;
      const auto [p, ec] = std::from_chars(digits.data(), last, d);
      if (ec != std::errc()) return fail(begin, "number out of range");
      push(TokenType::real, begin).value = Value::of_real(d);
    } else {
      int64_t i = 0;
      const auto [p, ec] = std::from_chars(digits.data(), last, i, base);
      if (ec != std::errc()) return fail(begin, "integer beyond 64 bits");
      push(TokenType::integer, begin).value = Value::of_int(i);
    }
    return Status();
  }

  Status literal() {
    const size_t begin = pos_;
    const char quote = text_[pos_];
    size_t end = pos_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return fail(begin, "a string that begins here has no end");
    TextBuilder out(kMaxTemplateSize);
    LLMRT_TRY(unescape(begin + 1, end, out));
    pos_ = end + 1;
    push(TokenType::text, begin).value = Value::of_text(out.finish(constants_));
    return Status();
  }

  // Python's escapes. An unknown one keeps its backslash.
  Status unescape(size_t i, size_t end, TextBuilder& out) {
    while (i < end) {
      if (text_[i] != '\\') {
        const size_t next = std::min(text_.find('\\', i), end);
        out.append(text_.substr(i, next - i), false);
        i = next;
        continue;
      }
      const size_t escape = i;
      const char c = text_[i + 1];
      i += 2;
      switch (c) {
        case '\n':
          break;
        case 'n':
          out.append('\n', false);
          break;
        case 't':
          out.append('\t', false);
          break;
        case 'r':
          out.append('\r', false);
          break;
        case 'a':
          out.append('\a', false);
          break;
        case 'b':
          out.append('\b', false);
          break;
        case 'f':
          out.append('\f', false);
          break;
        case 'v':
          out.append('\v', false);
          break;
        case '\\':
        case '\'':
        case '"':
          out.append(c, false);
          break;
        case 'x':
        case 'u':
        case 'U': {
          const size_t n = c == 'x' ? 2 : c == 'u' ? 4 : 8;
          uint32_t cp = 0;
          for (size_t k = 0; k < n; ++k, ++i) {
            const int h = i < end ? hex_value(text_[i]) : -1;
            if (h < 0 || cp > 0x10FFFF)
              return fail(escape, "a \\x, \\u or \\U escape needs 2, 4 or 8 hexadecimal digits");
            cp = cp * 16 + static_cast<uint32_t>(h);
          }
          if (cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000))
            return fail(escape, "an escape that is not a Unicode character");
          out.append_code_point(cp, false);
          break;
        }
        case 'N':
          return fail(escape, "\\N{...} escapes are not supported");
        default:
          if (c >= '0' && c <= '7') {
            uint32_t cp = static_cast<uint32_t>(c - '0');
            for (int k = 0; k < 2 && i < end && text_[i] >= '0' && text_[i] <= '7'; ++k, ++i)
              cp = cp * 8 + static_cast<uint32_t>(text_[i] - '0');
            out.append_code_point(cp, false);
          } else {
            out.append('\\', false);
            --i;
          }
      }
    }
    return Status();
  }

  const Source& source_;
  std::string_view text_;
  Arena& constants_;
  size_t pos_ = 0;
  std::vector<LexToken> tokens_;
};

}  // namespace

Result<std::vector<LexToken>> tokenize(const Source& source, Arena& constants) {
  return Lexer(source, constants).run();
}

}  // namespace llmrt::jinja
