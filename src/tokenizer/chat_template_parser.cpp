#include "tokenizer/chat_template_parser.h"

#include <algorithm>
#include <initializer_list>

#include "tokenizer/chat_template_builtins.h"
#include "tokenizer/chat_template_lexer.h"

namespace llmrt::jinja {

NameId NameTable::intern(std::string_view name) {
  const auto known = ids_.find(name);
  if (known != ids_.end()) return known->second;
  names_.emplace_back(name);
  const auto id = static_cast<NameId>(names_.size() - 1);
  ids_.emplace(names_.back(), id);
  return id;
}

NameId NameTable::find(std::string_view name) const {
  const auto known = ids_.find(name);
  return known == ids_.end() ? size() : known->second;
}

namespace {

using Type = TokenType;
using Words = std::initializer_list<std::string_view>;

class Parser {
 public:
  Parser(Tree& tree, std::vector<LexToken> tokens) : tree_(tree), tokens_(std::move(tokens)) {}

  Status run() {
    LLMRT_ASSIGN(tree_.body, block({}, 0));
    if (unknown_.empty()) return Status();
    const Expr& e = *unknown_.front();
    const std::string kind = e.type == Expr::Type::filter ? "unknown filter '" : "unknown test '";
    return fail(e.at, kind + std::string(e.value.text->view().substr(0, 40)) + "'");
  }

 private:
  // --- tokens

  const LexToken& peek(size_t ahead = 0) const {
    return tokens_[std::min(pos_ + ahead, tokens_.size() - 1)];
  }
  bool is(Type type) const { return peek().type == type; }
  bool is_word(std::string_view word, size_t ahead = 0) const {
    return peek(ahead).type == Type::name && peek(ahead).word == word;
  }
  void advance() {
    if (pos_ + 1 < tokens_.size()) ++pos_;
  }
  bool skip(Type type) {
    if (!is(type)) return false;
    advance();
    return true;
  }
  bool skip_word(std::string_view word) {
    if (!is_word(word)) return false;
    advance();
    return true;
  }
  Status fail(size_t at, std::string_view sentence) const {
    return tree_.source.error_at(at, sentence);
  }
  Status unexpected(std::string_view wanted) const {
    const LexToken& t = peek();
    if (t.type == Type::end)
      return fail(t.at, "the template ends here, expected " + std::string(wanted));
    const size_t n = std::min<size_t>(tree_.source.text().size() - t.at,
                                      t.type == Type::name ? t.word.size() : 2);
    std::string found = t.type == Type::data
                            ? "text"
                            : "'" + tree_.source.text().substr(t.at, std::min<size_t>(n, 40)) + "'";
    return fail(t.at, "unexpected " + found + ", expected " + std::string(wanted));
  }
  Status expect(Type type, std::string_view wanted) {
    if (!skip(type)) return unexpected(wanted);
    return Status();
  }
  Result<std::string_view> expect_name(std::string_view wanted) {
    if (!is(Type::name)) return unexpected(wanted);
    const std::string_view word = peek().word;
    advance();
    return word;
  }

  // --- nodes

  Result<Expr*> node(Expr::Type type, size_t at, std::initializer_list<const Expr*> operands = {}) {
    if (++n_nodes_ > kMaxNodes) return fail(at, "the template has more than 50000 nodes");
    Expr& e = tree_.exprs.emplace_back();
    e.type = type;
    e.at = static_cast<uint32_t>(at);
    for (const Expr* operand : operands) {
      e.operands.push_back(operand);
      LLMRT_TRY(deepen(e, operand));
    }
    return &e;
  }
  Status deepen(Expr& e, const Expr* operand) {
    if (operand) e.depth = std::max(e.depth, operand->depth + 1);
    if (e.depth > kMaxTreeDepth) return fail(e.at, "expression nested deeper than 100 levels");
    return Status();
  }
  Status add_operand(Expr& e, const Expr* operand) {
    e.operands.push_back(operand);
    return deepen(e, operand);
  }
  Result<const Expr*> constant(size_t at, Value value) {
    LLMRT_ASSIGN(Expr * e, node(Expr::Type::constant, at));
    e->value = value;
    return e;
  }
  Value word_value(std::string_view word) {
    return Value::of_text(copy_text(tree_.constants, word, false));
  }
  Result<Stmt*> stmt(Stmt::Type type, size_t at) {
    if (++n_nodes_ > kMaxNodes) return fail(at, "the template has more than 50000 nodes");
    Stmt& s = tree_.stmts.emplace_back();
    s.type = type;
    s.at = static_cast<uint32_t>(at);
    return &s;
  }

  // Nesting of the parser itself: brackets, unary operators, blocks.
  struct Depth {
    explicit Depth(uint32_t& depth) : depth_(depth) { ++depth_; }
    ~Depth() { --depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    uint32_t& depth_;
  };
  Status check_depth() const {
    if (depth_ > kMaxTreeDepth) return fail(peek().at, "nested deeper than 100 levels");
    return Status();
  }
  // In a conditional part an unknown filter or test waits until it is reached.
  struct Soft {
    Soft(bool& soft, bool value) : soft_(soft), before_(soft) { soft_ = value; }
    ~Soft() { soft_ = before_; }
    Soft(const Soft&) = delete;
    Soft& operator=(const Soft&) = delete;
    bool& soft_;
    bool before_;
  };

  // --- statements

  // Up to a tag that begins with one of `ends` (which is left as the current token), or to the end of the template.
  Result<Block> block(Words ends, size_t opened_at) {
    const Depth depth(depth_);
    LLMRT_TRY(check_depth());
    Block body;
    while (!is(Type::end)) {
      const LexToken token = peek();
      advance();
      if (token.type == Type::data) {
        LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::data, token.at));
        s->text = {token.word.data(), nullptr, static_cast<uint32_t>(token.word.size()), false};
        body.push_back(s);
      } else if (token.type == Type::variable_begin) {
        LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::print, token.at));
        LLMRT_ASSIGN(s->expr, tuple(true));
        LLMRT_TRY(expect(Type::variable_end, "'}}'"));
        body.push_back(s);
      } else {
        for (const std::string_view end : ends)
          if (is_word(end)) return body;
        LLMRT_TRY(statement(token.at, body));
        LLMRT_TRY(expect(Type::block_end, "'%}'"));
      }
    }
    if (ends.size() == 0) return body;
    return fail(opened_at, "this block has no '" + std::string(*(ends.end() - 1)) + "'");
  }
  // The body of a block whose end tag closes it.
  Result<Block> closed_block(std::string_view end, size_t opened_at) {
    LLMRT_TRY(expect(Type::block_end, "'%}'"));
    LLMRT_ASSIGN(Block body, block({end}, opened_at));
    advance();
    return body;
  }

  Status statement(size_t at, Block& body) {
    if (!is(Type::name)) return unexpected("the name of a tag");
    const std::string_view tag = peek().word;
    advance();
    Result<Stmt*> made = statement_of(tag, at);
    if (!made.ok()) return std::move(made).status();
    body.push_back(*made);
    return Status();
  }

  Result<Stmt*> statement_of(std::string_view tag, size_t at) {
    if (tag == "if") return if_statement(at);
    if (tag == "for") return for_statement(at);
    if (tag == "set") return set_statement(at);
    if (tag == "macro") return macro_statement(at);
    if (tag == "filter") return filter_statement(at);
    if (tag == "with") return with_statement(at);
    if (tag == "generation") {
      LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::scope, at));
      const Soft soft(soft_, false);
      LLMRT_ASSIGN(s->body, closed_block("endgeneration", at));
      return s;
    }
    if (tag == "break" || tag == "continue") {
      if (loops_ == 0) return fail(at, "'" + std::string(tag) + "' outside a loop");
      return stmt(tag == "break" ? Stmt::Type::break_loop : Stmt::Type::continue_loop, at);
    }
    for (const std::string_view known :
         {"block", "extends", "include", "import", "from", "call", "autoescape", "print"})
      if (tag == known)
        return fail(at, "the tag '" + std::string(tag) + "' is not supported in chat templates");
    if (tag.starts_with("end") || tag == "else" || tag == "elif")
      return fail(at, "'" + std::string(tag.substr(0, 40)) + "' without its opening tag");
    return fail(at, "unknown tag '" + std::string(tag.substr(0, 40)) + "'");
  }

  Result<Stmt*> if_statement(size_t at) {
    LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::branches, at));
    const Soft soft(soft_, true);
    for (;;) {
      Branch branch;
      LLMRT_ASSIGN(branch.condition, tuple(false));
      LLMRT_TRY(expect(Type::block_end, "'%}'"));
      LLMRT_ASSIGN(branch.body, block({"elif", "else", "endif"}, at));
      s->branches.push_back(std::move(branch));
      if (!skip_word("elif")) break;
    }
    if (skip_word("else")) {
      Branch branch;
      LLMRT_ASSIGN(branch.body, closed_block("endif", at));
      s->branches.push_back(std::move(branch));
    } else {
      advance();
    }
    return s;
  }

  Result<Stmt*> for_statement(size_t at) {
    LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::loop, at));
    LLMRT_ASSIGN(s->target, target(false));
    if (!skip_word("in")) return unexpected("'in'");
    LLMRT_ASSIGN(s->expr, tuple(false));
    const Soft soft(soft_, false);
    if (skip_word("if")) {
      LLMRT_ASSIGN(s->condition, expression());
    }
    if (is_word("recursive"))
      return fail(peek().at, "recursive loops are not supported in chat templates");
    LLMRT_TRY(expect(Type::block_end, "'%}'"));
    ++loops_;
    const bool outer_uses_loop = uses_loop_;
    uses_loop_ = false;
    LLMRT_ASSIGN(s->body, block({"else", "endfor"}, at));
    s->uses_loop = uses_loop_;
    uses_loop_ = outer_uses_loop || uses_loop_;
    --loops_;
    if (skip_word("else")) {
      LLMRT_ASSIGN(s->other, closed_block("endfor", at));
    } else {
      advance();
    }
    return s;
  }

  Result<Stmt*> set_statement(size_t at) {
    LLMRT_ASSIGN(Target to, target(true));
    if (skip(Type::assign)) {
      LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::set, at));
      s->target = std::move(to);
      LLMRT_ASSIGN(s->expr, tuple(true));
      return s;
    }
    LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::set_block, at));
    s->target = std::move(to);
    const Soft soft(soft_, false);
    if (is(Type::pipe)) {
      LLMRT_ASSIGN(s->expr, filters(nullptr));
    }
    LLMRT_ASSIGN(s->body, closed_block("endset", at));
    return s;
  }

  Result<Stmt*> filter_statement(size_t at) {
    LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::filter_block, at));
    const Soft soft(soft_, false);
    LLMRT_ASSIGN(const Expr* first, one_filter(nullptr));
    LLMRT_ASSIGN(s->expr, filters(first));
    LLMRT_ASSIGN(s->body, closed_block("endfilter", at));
    return s;
  }

  Result<Stmt*> with_statement(size_t at) {
    LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::with, at));
    while (!is(Type::block_end)) {
      if (!s->values.empty()) LLMRT_TRY(expect(Type::comma, "','"));
      LLMRT_ASSIGN(Target to, target(false));
      LLMRT_TRY(expect(Type::assign, "'='"));
      LLMRT_ASSIGN(const Expr* value, expression());
      s->targets.push_back(std::move(to));
      s->values.push_back(value);
    }
    const Soft soft(soft_, false);
    LLMRT_ASSIGN(s->body, closed_block("endwith", at));
    return s;
  }

  Result<Stmt*> macro_statement(size_t at) {
    LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::macro, at));
    LLMRT_ASSIGN(const std::string_view name, expect_name("the macro's name"));
    s->name = tree_.names.intern(name);
    s->macro.name = word_value(name).text;
    const Soft soft(soft_, false);
    LLMRT_TRY(expect(Type::lparen, "'('"));
    while (!is(Type::rparen)) {
      if (!s->macro.parameters.empty()) LLMRT_TRY(expect(Type::comma, "','"));
      const size_t where = peek().at;
      Parameter p;
      LLMRT_ASSIGN(const std::string_view word, expect_name("a parameter's name"));
      p.name = tree_.names.intern(word);
      p.text = word_value(word).text;
      if (skip(Type::assign)) {
        LLMRT_ASSIGN(p.fallback, expression());
      } else if (!s->macro.parameters.empty() && s->macro.parameters.back().fallback) {
        return fail(where, "a parameter without a default follows one with a default");
      }
      s->macro.parameters.push_back(p);
    }
    advance();
    s->macro.varargs = tree_.names.intern("varargs");
    s->macro.kwargs = tree_.names.intern("kwargs");
    const uint32_t outer_loops = loops_;
    loops_ = 0;
    const size_t first = pos_;
    LLMRT_ASSIGN(s->macro.body, closed_block("endmacro", at));
    loops_ = outer_loops;
    for (size_t i = first; i < pos_; ++i) {
      if (tokens_[i].type != Type::name) continue;
      s->macro.takes_varargs |= tokens_[i].word == "varargs";
      s->macro.takes_kwargs |= tokens_[i].word == "kwargs";
    }
    return s;
  }

  Result<Target> target(bool with_members) {
    Target whole;
    whole.at = peek().at;
    bool is_tuple = false;
    std::vector<Target> parts;
    for (;;) {
      if (!parts.empty() && (is_word("in") || is(Type::block_end) || is(Type::assign))) break;
      LLMRT_ASSIGN(Target part, one_target(with_members));
      parts.push_back(std::move(part));
      if (!skip(Type::comma)) break;
      is_tuple = true;
    }
    if (!is_tuple) return std::move(parts[0]);
    whole.type = Target::Type::tuple;
    whole.parts = std::move(parts);
    return whole;
  }

  Result<Target> one_target(bool with_members) {
    const Depth depth(depth_);
    LLMRT_TRY(check_depth());
    Target t;
    t.at = peek().at;
    if (skip(Type::lparen)) {
      t.type = Target::Type::tuple;
      bool is_tuple = false;
      while (!is(Type::rparen)) {
        LLMRT_ASSIGN(Target part, one_target(false));
        t.parts.push_back(std::move(part));
        if (!skip(Type::comma)) break;
        is_tuple = true;
      }
      LLMRT_TRY(expect(Type::rparen, "')'"));
      if (!is_tuple && t.parts.size() == 1) {
        Target only = std::move(t.parts[0]);
        return only;
      }
      return t;
    }
    LLMRT_ASSIGN(const std::string_view word, expect_name("a name to assign to"));
    for (const std::string_view fixed : {"true", "false", "none", "True", "False", "None"})
      if (word == fixed) return fail(t.at, "cannot assign to '" + std::string(word) + "'");
    t.name = tree_.names.intern(word);
    if (with_members && skip(Type::dot)) {
      t.type = Target::Type::member;
      LLMRT_ASSIGN(const std::string_view member, expect_name("the name of a namespace's member"));
      t.member = word_value(member).text;
    }
    return t;
  }

  // --- expressions, from the loosest binding on

  Result<const Expr*> expression() { return conditional(); }

  // Expressions with commas between them, without brackets: a tuple if there is a comma.
  Result<const Expr*> tuple(bool with_conditional) {
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
  bool ends_tuple() const {
    return is(Type::variable_end) || is(Type::block_end) || is(Type::rparen) ||
           is_word("recursive");
  }

  Result<const Expr*> conditional() {
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

  Result<const Expr*> logical_or() {
    LLMRT_ASSIGN(const Expr* first, logical_and());
    if (!is_word("or")) return first;
    LLMRT_ASSIGN(Expr * e, node(Expr::Type::logical_or, first->at, {first}));
    while (skip_word("or")) {
      LLMRT_ASSIGN(const Expr* next, logical_and());
      LLMRT_TRY(add_operand(*e, next));
    }
    return e;
  }

  Result<const Expr*> logical_and() {
    LLMRT_ASSIGN(const Expr* first, logical_not());
    if (!is_word("and")) return first;
    LLMRT_ASSIGN(Expr * e, node(Expr::Type::logical_and, first->at, {first}));
    while (skip_word("and")) {
      LLMRT_ASSIGN(const Expr* next, logical_not());
      LLMRT_TRY(add_operand(*e, next));
    }
    return e;
  }

  Result<const Expr*> logical_not() {
    if (!is_word("not")) return comparison();
    const Depth depth(depth_);
    LLMRT_TRY(check_depth());
    const size_t at = peek().at;
    advance();
    LLMRT_ASSIGN(const Expr* operand, logical_not());
    LLMRT_ASSIGN(const Expr* e, node(Expr::Type::logical_not, at, {operand}));
    return e;
  }

  bool comparison_op(Op* op) {
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

  Result<const Expr*> comparison() {
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

  struct Binary {
    Type token;
    Op op;
  };
  // operand (op operand)*, one node.
  Result<const Expr*> chain(std::initializer_list<Binary> ops,
                            Result<const Expr*> (Parser::*operand)()) {
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

  Result<const Expr*> sum() {
    return chain({{Type::add, Op::add}, {Type::sub, Op::subtract}}, &Parser::concat);
  }
  Result<const Expr*> product() {
    return chain({{Type::mul, Op::multiply},
                  {Type::div, Op::divide},
                  {Type::floor_div, Op::floor_divide},
                  {Type::mod, Op::modulo}},
                 &Parser::power);
  }
  Result<const Expr*> power() {  // from left to right, as in jinja2
    return chain({{Type::pow, Op::power}}, &Parser::filtered_unary);
  }
  Result<const Expr*> filtered_unary() { return unary(true); }

  Result<const Expr*> concat() {
    LLMRT_ASSIGN(const Expr* first, product());
    if (!is(Type::tilde)) return first;
    LLMRT_ASSIGN(Expr * e, node(Expr::Type::concat, peek().at, {first}));
    while (skip(Type::tilde)) {
      LLMRT_ASSIGN(const Expr* next, product());
      LLMRT_TRY(add_operand(*e, next));
    }
    return e;
  }

  Result<const Expr*> unary(bool with_filters) {
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

  Result<const Expr*> primary() {
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

  Result<const Expr*> name() {
    const LexToken token = peek();
    advance();
    if (token.word == "true" || token.word == "True")
      return constant(token.at, Value::of_bool(true));
    if (token.word == "false" || token.word == "False")
      return constant(token.at, Value::of_bool(false));
    if (token.word == "none" || token.word == "None") return constant(token.at, Value::of_none());
    if (token.word == "loop") uses_loop_ = true;
    LLMRT_ASSIGN(Expr * e, node(Expr::Type::name, token.at));
    e->name = tree_.names.intern(token.word);
    return e;
  }

  Result<const Expr*> literal_text() {  // neighbours are joined, as in Python
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

  Result<const Expr*> bracketed() {
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

  Result<const Expr*> list() {
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

  Result<const Expr*> dict() {
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

  Result<const Expr*> postfix(const Expr* e) {
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

  Result<const Expr*> attribute(const Expr* object) {
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

  Result<const Expr*> subscript(const Expr* object) {
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
  Result<const Arguments*> arguments(Expr& owner) {
    const size_t at = peek().at;
    advance();
    Arguments& a = tree_.arguments.emplace_back();
    bool first = true;
    const auto invalid = [&] {
      return fail(at, "arguments in an order that Python does not allow");
    };
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

  Result<const Expr*> call(const Expr* function) {
    LLMRT_ASSIGN(Expr * e, node(Expr::Type::call, peek().at, {function}));
    LLMRT_ASSIGN(e->arguments, arguments(*e));
    return e;
  }

  Result<const Expr*> filters(const Expr* e) {
    while (skip(Type::pipe)) {
      LLMRT_ASSIGN(e, one_filter(e));
    }
    return e;
  }

  Result<const Expr*> one_filter(const Expr* operand) {
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

  Result<const Expr*> test(const Expr* operand) {
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
  bool takes_bare_argument() const {
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

  Tree& tree_;
  std::vector<LexToken> tokens_;
  size_t pos_ = 0;
  uint32_t depth_ = 0;
  uint32_t n_nodes_ = 0;
  uint32_t loops_ = 0;
  bool soft_ = false;
  std::vector<const Expr*>
      unknown_;  // filters and tests of that kind outside conditional parts, as far as seen
  bool uses_loop_ = false;
};

}  // namespace

Result<std::unique_ptr<Tree>> parse_template(std::string_view text) {
  LLMRT_ASSIGN(Source source, Source::make(text));
  auto tree = std::make_unique<Tree>(std::move(source));
  LLMRT_ASSIGN(std::vector<LexToken> tokens, tokenize(tree->source, tree->constants));
  LLMRT_TRY(Parser(*tree, std::move(tokens)).run());
  return tree;
}

}  // namespace llmrt::jinja
