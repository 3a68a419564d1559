// Expressions, from the loosest binding on.
#include <algorithm>

#include "chat_template/template_builtins.h"
#include "chat_template/template_parser_parts.h"

namespace llmrt::jinja {

// Expressions with commas between them, without brackets: a tuple if there is a comma.
Result<const Expr*> ExpressionParser::tuple(bool with_conditional) {
  const size_t at = peek().at;
  std::vector<const Expr*> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty() && ends_tuple()) break;
    LLMRT_ASSIGN(const Expr* item, with_conditional ? conditional() : logical_or());
    items.push_back(item);
    if (!skip(Type::comma)) break;
    is_tuple = true;
  }
  if (!is_tuple) return items[0];
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::tuple, at));
  for (const Expr* item : items) LLMRT_TRY(add_operand(*e, item));
  return e;
}

bool ExpressionParser::ends_tuple() const {
  return is(Type::variable_end) || is(Type::block_end) || is(Type::rparen) || is_word("recursive");
}

Result<const Expr*> ExpressionParser::conditional() {
  const size_t at = peek().at;
  const size_t n_unknown = unknown_.size();
  LLMRT_ASSIGN(const Expr* value, logical_or());
  while (skip_word("if")) {
    unknown_.resize(n_unknown);  // the value before the `if` is conditional too
    const Soft soft(soft_, true);
    LLMRT_ASSIGN(const Expr* condition, logical_or());
    const Expr* other = nullptr;
    if (skip_word("else")) {
      const Depth depth(depth_);
      LLMRT_TRY(check_depth());
      LLMRT_ASSIGN(other, conditional());
    }
    LLMRT_ASSIGN(value, node(Expr::Type::conditional, at, {value, condition, other}));
  }
  return value;
}

Result<const Expr*> ExpressionParser::logical_or() {
  LLMRT_ASSIGN(const Expr* first, logical_and());
  if (!is_word("or")) return first;
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::logical_or, first->at, {first}));
  while (skip_word("or")) {
    LLMRT_ASSIGN(const Expr* next, logical_and());
    LLMRT_TRY(add_operand(*e, next));
  }
  return e;
}

Result<const Expr*> ExpressionParser::logical_and() {
  LLMRT_ASSIGN(const Expr* first, logical_not());
  if (!is_word("and")) return first;
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::logical_and, first->at, {first}));
  while (skip_word("and")) {
    LLMRT_ASSIGN(const Expr* next, logical_not());
    LLMRT_TRY(add_operand(*e, next));
  }
  return e;
}

Result<const Expr*> ExpressionParser::logical_not() {
  if (!is_word("not")) return comparison();
  const Depth depth(depth_);
  LLMRT_TRY(check_depth());
  const size_t at = peek().at;
  advance();
  LLMRT_ASSIGN(const Expr* operand, logical_not());
  LLMRT_ASSIGN(const Expr* e, node(Expr::Type::logical_not, at, {operand}));
  return e;
}

bool ExpressionParser::comparison_op(Op* op) {
  switch (peek().type) {
    case Type::eq:
      *op = Op::eq;
      break;
    case Type::ne:
      *op = Op::ne;
      break;
    case Type::lt:
      *op = Op::lt;
      break;
    case Type::le:
      *op = Op::le;
      break;
    case Type::gt:
      *op = Op::gt;
      break;
    case Type::ge:
      *op = Op::ge;
      break;
    default:
      if (is_word("in")) {
        *op = Op::in;
        break;
      }
      if (!is_word("not") || !is_word("in", 1)) return false;
      advance();
      *op = Op::not_in;
  }
  advance();
  return true;
}

Result<const Expr*> ExpressionParser::comparison() {
  LLMRT_ASSIGN(const Expr* first, sum());
  Op op;
  if (!comparison_op(&op)) return first;
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::comparison, first->at, {first}));
  do {
    LLMRT_ASSIGN(const Expr* next, sum());
    e->ops.push_back(op);
    LLMRT_TRY(add_operand(*e, next));
  } while (comparison_op(&op));
  return e;
}

// operand (op operand)*, one node.
Result<const Expr*> ExpressionParser::chain(std::initializer_list<Binary> ops,
                                            Result<const Expr*> (ExpressionParser::*operand)()) {
  LLMRT_ASSIGN(const Expr* first, (this->*operand)());
  Expr* e = nullptr;
  for (;;) {
    const auto found =
        std::find_if(ops.begin(), ops.end(), [this](const Binary& b) { return is(b.token); });
    if (found == ops.end()) return e ? e : first;
    const size_t at = peek().at;
    advance();
    if (!e) {
      LLMRT_ASSIGN(e, node(Expr::Type::arithmetic, at, {first}));
    }
    LLMRT_ASSIGN(const Expr* next, (this->*operand)());
    e->ops.push_back(found->op);
    LLMRT_TRY(add_operand(*e, next));
  }
}

Result<const Expr*> ExpressionParser::product() {
  return chain({{Type::mul, Op::multiply},
                {Type::div, Op::divide},
                {Type::floor_div, Op::floor_divide},
                {Type::mod, Op::modulo}},
               &ExpressionParser::power);
}

Result<const Expr*> ExpressionParser::concat() {
  LLMRT_ASSIGN(const Expr* first, product());
  if (!is(Type::tilde)) return first;
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::concat, peek().at, {first}));
  while (skip(Type::tilde)) {
    LLMRT_ASSIGN(const Expr* next, product());
    LLMRT_TRY(add_operand(*e, next));
  }
  return e;
}

Result<const Expr*> ExpressionParser::unary(bool with_filters) {
  const Depth depth(depth_);
  LLMRT_TRY(check_depth());
  const size_t at = peek().at;
  const Expr* e = nullptr;
  if (is(Type::sub) || is(Type::add)) {
    const bool minus = is(Type::sub);
    advance();
    LLMRT_ASSIGN(const Expr* operand, unary(false));
    LLMRT_ASSIGN(e, node(minus ? Expr::Type::negate : Expr::Type::plus, at, {operand}));
  } else {
    LLMRT_ASSIGN(e, primary());
  }
  LLMRT_ASSIGN(e, postfix(e));
  if (!with_filters) return e;
  for (;;) {
    if (is(Type::pipe)) {
      LLMRT_ASSIGN(e, filters(e));
    } else if (is_word("is")) {
      LLMRT_ASSIGN(e, test(e));
    } else if (is(Type::lparen)) {
      LLMRT_ASSIGN(e, call(e));
    } else {
      return e;
    }
  }
}

Result<const Expr*> ExpressionParser::primary() {
  const LexToken token = peek();
  switch (token.type) {
    case Type::name:
      return name();
    case Type::text:
      return literal_text();
    case Type::integer:
    case Type::real:
      advance();
      return constant(token.at, token.value);
    case Type::lparen:
      return bracketed();
    case Type::lbracket:
      return list();
    case Type::lbrace:
      return dict();
    default:
      return unexpected("an expression");
  }
}

Result<const Expr*> ExpressionParser::name() {
  const LexToken token = peek();
  advance();
  if (token.word == "true" || token.word == "True") return constant(token.at, Value::of_bool(true));
  if (token.word == "false" || token.word == "False")
    return constant(token.at, Value::of_bool(false));
  if (token.word == "none" || token.word == "None") return constant(token.at, Value::of_none());
  if (token.word == "loop") uses_loop_ = true;
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::name, token.at));
  e->name = tree_.names.intern(token.word);
  return e;
}

Result<const Expr*> ExpressionParser::literal_text() {  // neighbours are joined, as in Python
  const LexToken token = peek();
  advance();
  if (!is(Type::text)) return constant(token.at, token.value);
  std::string joined(token.value.text->view());
  while (is(Type::text)) {
    joined += peek().value.text->view();
    advance();
  }
  return constant(token.at, word_value(joined));
}

Result<const Expr*> ExpressionParser::bracketed() {
  const size_t at = peek().at;
  advance();
  if (skip(Type::rparen)) {
    LLMRT_ASSIGN(const Expr* empty, node(Expr::Type::tuple, at));
    return empty;
  }
  LLMRT_ASSIGN(const Expr* e, tuple(true));
  LLMRT_TRY(expect(Type::rparen, "')'"));
  return e;
}

Result<const Expr*> ExpressionParser::list() {
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::list, peek().at));
  advance();
  while (!is(Type::rbracket)) {
    if (!e->operands.empty()) LLMRT_TRY(expect(Type::comma, "',' or ']'"));
    if (is(Type::rbracket)) break;
    LLMRT_ASSIGN(const Expr* item, expression());
    LLMRT_TRY(add_operand(*e, item));
  }
  advance();
  return e;
}

Result<const Expr*> ExpressionParser::dict() {
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::dict, peek().at));
  advance();
  while (!is(Type::rbrace)) {
    if (!e->operands.empty()) LLMRT_TRY(expect(Type::comma, "',' or '}'"));
    if (is(Type::rbrace)) break;
    LLMRT_ASSIGN(const Expr* key, expression());
    LLMRT_TRY(expect(Type::colon, "':'"));
    LLMRT_ASSIGN(const Expr* value, expression());
    LLMRT_TRY(add_operand(*e, key));
    LLMRT_TRY(add_operand(*e, value));
  }
  advance();
  return e;
}

Result<const Expr*> ExpressionParser::postfix(const Expr* e) {
  for (;;) {
    if (is(Type::dot)) {
      LLMRT_ASSIGN(e, attribute(e));
    } else if (is(Type::lbracket)) {
      LLMRT_ASSIGN(e, subscript(e));
    } else if (is(Type::lparen)) {
      LLMRT_ASSIGN(e, call(e));
    } else {
      return e;
    }
  }
}

Result<const Expr*> ExpressionParser::attribute(const Expr* object) {
  const size_t at = peek().at;
  advance();
  const LexToken token = peek();
  if (token.type == Type::integer) {
    advance();
    LLMRT_ASSIGN(const Expr* index, constant(token.at, token.value));
    LLMRT_ASSIGN(const Expr* e, node(Expr::Type::item, at, {object, index}));
    return e;
  }
  LLMRT_ASSIGN(const std::string_view word, expect_name("an attribute's name"));
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::attribute, at, {object}));
  e->value = word_value(word);
  e->may_be_method = is_method_name(word);
  return e;
}

Result<const Expr*> ExpressionParser::subscript(const Expr* object) {
  const size_t at = peek().at;
  advance();
  std::vector<const Expr*> parts;
  const Expr* first = nullptr;
  if (!is(Type::colon)) {
    LLMRT_ASSIGN(first, expression());
    if (!is(Type::colon)) {
      if (is(Type::comma)) return fail(at, "a subscript with several parts is not supported");
      LLMRT_TRY(expect(Type::rbracket, "']'"));
      LLMRT_ASSIGN(const Expr* e, node(Expr::Type::item, at, {object, first}));
      return e;
    }
  }
  const Expr* bounds[2] = {nullptr, nullptr};
  for (const Expr*& bound : bounds) {
    if (!skip(Type::colon)) break;
    if (!is(Type::colon) && !is(Type::rbracket)) {
      LLMRT_ASSIGN(bound, expression());
    }
  }
  LLMRT_TRY(expect(Type::rbracket, "']'"));
  LLMRT_ASSIGN(const Expr* e, node(Expr::Type::slice, at, {object, first, bounds[0], bounds[1]}));
  return e;
}

// Arguments deepen the node they belong to.
Result<const Arguments*> ExpressionParser::arguments(Expr& owner) {
  const size_t at = peek().at;
  advance();
  Arguments& a = tree_.arguments.emplace_back();
  bool first = true;
  const auto invalid = [&] { return fail(at, "arguments in an order that Python does not allow"); };
  while (!is(Type::rparen)) {
    if (!first) {
      LLMRT_TRY(expect(Type::comma, "',' or ')'"));
      if (is(Type::rparen)) break;
    }
    first = false;
    const Expr* value = nullptr;
    if (skip(Type::mul)) {
      if (a.star || a.double_star) return invalid();
      LLMRT_ASSIGN(value, expression());
      a.star = value;
    } else if (skip(Type::pow)) {
      if (a.double_star) return invalid();
      LLMRT_ASSIGN(value, expression());
      a.double_star = value;
    } else if (is(Type::name) && peek(1).type == Type::assign) {
      if (a.double_star) return invalid();
      Keyword keyword;
      keyword.name = word_value(peek().word).text;
      advance();
      advance();
      LLMRT_ASSIGN(value, expression());
      keyword.value = value;
      a.keywords.push_back(keyword);
    } else {
      if (a.star || a.double_star || !a.keywords.empty()) return invalid();
      LLMRT_ASSIGN(value, expression());
      a.positional.push_back(value);
    }
    LLMRT_TRY(deepen(owner, value));
  }
  advance();
  return &a;
}

Result<const Expr*> ExpressionParser::call(const Expr* function) {
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::call, peek().at, {function}));
  LLMRT_ASSIGN(e->arguments, arguments(*e));
  return e;
}

Result<const Expr*> ExpressionParser::filters(const Expr* e) {
  while (skip(Type::pipe)) {
    LLMRT_ASSIGN(e, one_filter(e));
  }
  return e;
}

Result<const Expr*> ExpressionParser::one_filter(const Expr* operand) {
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::filter, peek().at));
  if (operand) LLMRT_TRY(add_operand(*e, operand));
  LLMRT_ASSIGN(const std::string_view word, expect_name("a filter's name"));
  e->value = word_value(word);
  e->builtin = find_filter(word);
  if (!e->builtin && !soft_) unknown_.push_back(e);
  if (is(Type::lparen)) {
    LLMRT_ASSIGN(e->arguments, arguments(*e));
  }
  return e;
}

Result<const Expr*> ExpressionParser::test(const Expr* operand) {
  const size_t at = peek().at;
  advance();
  const bool negated = skip_word("not");
  LLMRT_ASSIGN(Expr * e, node(Expr::Type::test, at, {operand}));
  LLMRT_ASSIGN(const std::string_view word, expect_name("a test's name"));
  e->value = word_value(word);
  e->builtin = find_test(word);
  if (!e->builtin && !soft_) unknown_.push_back(e);
  if (is(Type::lparen)) {
    LLMRT_ASSIGN(e->arguments, arguments(*e));
  } else if (takes_bare_argument()) {
    if (is_word("is")) return fail(peek().at, "tests cannot be chained with 'is'");
    LLMRT_ASSIGN(const Expr* argument, primary());
    LLMRT_ASSIGN(argument, postfix(argument));
    Arguments& a = tree_.arguments.emplace_back();
    a.positional.push_back(argument);
    LLMRT_TRY(deepen(*e, argument));
    e->arguments = &a;
  }
  if (!negated) return e;
  LLMRT_ASSIGN(const Expr* inverse, node(Expr::Type::logical_not, at, {e}));
  return inverse;
}

bool ExpressionParser::takes_bare_argument() const {
  switch (peek().type) {
    case Type::name:
      return !is_word("else") && !is_word("or") && !is_word("and");
    case Type::text:
    case Type::integer:
    case Type::real:
    case Type::lbracket:
    case Type::lbrace:
      return true;
    default:
      return false;
  }
}

}  // namespace llmrt::jinja
