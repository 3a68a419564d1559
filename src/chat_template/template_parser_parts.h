// The two halves of the parser: expressions, and on top of them statements.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "base/platform/stack.h"
#include "chat_template/template_ast.h"
#include "chat_template/template_lexer.h"

namespace llmrt::jinja {

class ExpressionParser {
 public:
  ExpressionParser(Tree& tree, std::vector<LexToken> tokens)
      : tree_(tree), tokens_(std::move(tokens)) {}

 protected:
  using Type = TokenType;

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
    if (t.type == Type::end) return fail(t.at, phrase("the template ends here, expected ", wanted));
    const size_t n = std::min<size_t>(tree_.source.text().size() - t.at,
                                      t.type == Type::name ? t.word.size() : 2);
    std::string found =
        t.type == Type::data
            ? "text"
            : phrase("'", tree_.source.text().substr(t.at, std::min<size_t>(n, 40)), "'");
    return fail(t.at, phrase("unexpected ", found, ", expected ", wanted));
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
    if (depth_ > kMaxParseDepth) return fail(peek().at, "nested deeper than 64 levels");
    if (stack_.exhausted()) return fail(peek().at, "the template nests too deep");
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

  Result<const Expr*> expression() { return conditional(); }
  struct Binary {
    Type token;
    Op op;
  };
  Result<const Expr*> sum() {
    return chain({{Type::add, Op::add}, {Type::sub, Op::subtract}}, &ExpressionParser::concat);
  }
  Result<const Expr*> power() {  // from left to right, as in jinja2
    return chain({{Type::pow, Op::power}}, &ExpressionParser::filtered_unary);
  }
  Result<const Expr*> filtered_unary() { return unary(true); }

  // Expressions with commas between them, without brackets: a tuple if there is a comma.
  Result<const Expr*> tuple(bool with_conditional);
  bool ends_tuple() const;
  Result<const Expr*> conditional();
  Result<const Expr*> logical_or();
  Result<const Expr*> logical_and();
  Result<const Expr*> logical_not();
  bool comparison_op(Op* op);
  Result<const Expr*> comparison();
  // operand (op operand)*, one node.
  Result<const Expr*> chain(std::initializer_list<Binary> ops,
                            Result<const Expr*> (ExpressionParser::*operand)());
  Result<const Expr*> product();
  Result<const Expr*> concat();
  Result<const Expr*> unary(bool with_filters);
  Result<const Expr*> primary();
  Result<const Expr*> name();
  Result<const Expr*> literal_text();
  Result<const Expr*> bracketed();
  Result<const Expr*> list();
  Result<const Expr*> dict();
  Result<const Expr*> postfix(const Expr* e);
  Result<const Expr*> attribute(const Expr* object);
  Result<const Expr*> subscript(const Expr* object);
  // Arguments deepen the node they belong to.
  Result<const Arguments*> arguments(Expr& owner);
  Result<const Expr*> call(const Expr* function);
  Result<const Expr*> filters(const Expr* e);
  Result<const Expr*> one_filter(const Expr* operand);
  Result<const Expr*> test(const Expr* operand);
  bool takes_bare_argument() const;

  const StackMark stack_;
  Tree& tree_;
  std::vector<LexToken> tokens_;
  size_t pos_ = 0;
  uint32_t depth_ = 0;
  uint32_t n_nodes_ = 0;
  uint32_t loops_ = 0;  // loops around, within the innermost macro
  bool soft_ = false;
  // Unknown filters and tests outside conditional parts, as far as seen.
  std::vector<const Expr*> unknown_;
  bool uses_loop_ = false;  // the innermost loop's body mentions `loop`
};

class StatementParser : private ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;
  Status run();  // fills the tree

 private:
  using Words = std::initializer_list<std::string_view>;

  // Up to a tag that begins with one of `ends` (which is left as the current token), or to the end of the template.
  Result<Block> block(Words ends, size_t opened_at);
  // The body of a block whose end tag closes it.
  Result<Block> closed_block(std::string_view end, size_t opened_at);
  Status statement(size_t at, Block& body);
  Result<Stmt*> statement_of(std::string_view tag, size_t at);
  Result<Stmt*> if_statement(size_t at);
  Result<Stmt*> for_statement(size_t at);
  Result<Stmt*> set_statement(size_t at);
  Result<Stmt*> filter_statement(size_t at);
  Result<Stmt*> with_statement(size_t at);
  Result<Stmt*> macro_statement(size_t at);
  Result<Target> target(bool with_members);
  Result<Target> one_target(bool with_members);
};

}  // namespace llmrt::jinja
