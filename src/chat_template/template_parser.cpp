#include "chat_template/template_parser.h"

#include "chat_template/template_parser_parts.h"
#include "tokenizer/unicode.h"

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

Status StatementParser::run() {
  LLMRT_ASSIGN(tree_.body, block({}, 0));
  if (unknown_.empty()) return Status();
  const Expr& e = *unknown_.front();
  const std::string kind = e.type == Expr::Type::filter ? "unknown filter '" : "unknown test '";
  return fail(e.at, phrase(kind, utf8_head(e.value.text->view(), 40), "'"));
}

// Up to a tag that begins with one of `ends` (which is left as the current token), or to the end of the template.
Result<Block> StatementParser::block(Words ends, size_t opened_at) {
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
  return fail(opened_at, phrase("this block has no '", *(ends.end() - 1), "'"));
}

// The body of a block whose end tag closes it.
Result<Block> StatementParser::closed_block(std::string_view end, size_t opened_at) {
  LLMRT_TRY(expect(Type::block_end, "'%}'"));
  LLMRT_ASSIGN(Block body, block({end}, opened_at));
  advance();
  return body;
}

Status StatementParser::statement(size_t at, Block& body) {
  if (!is(Type::name)) return unexpected("the name of a tag");
  const std::string_view tag = peek().word;
  advance();
  Result<Stmt*> made = statement_of(tag, at);
  if (!made.ok()) return std::move(made).status();
  body.push_back(*made);
  return Status();
}

Result<Stmt*> StatementParser::statement_of(std::string_view tag, size_t at) {
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
    if (loops_ == 0) return fail(at, phrase("'", tag, "' outside a loop"));
    return stmt(tag == "break" ? Stmt::Type::break_loop : Stmt::Type::continue_loop, at);
  }
  for (const std::string_view known :
       {"block", "extends", "include", "import", "from", "call", "autoescape", "print"})
    if (tag == known)
      return fail(at, phrase("the tag '", tag, "' is not supported in chat templates"));
  if (tag.starts_with("end") || tag == "else" || tag == "elif")
    return fail(at, phrase("'", utf8_head(tag, 40), "' without its opening tag"));
  return fail(at, phrase("unknown tag '", utf8_head(tag, 40), "'"));
}

Result<Stmt*> StatementParser::if_statement(size_t at) {
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

Result<Stmt*> StatementParser::for_statement(size_t at) {
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

Result<Stmt*> StatementParser::set_statement(size_t at) {
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

Result<Stmt*> StatementParser::filter_statement(size_t at) {
  LLMRT_ASSIGN(Stmt * s, stmt(Stmt::Type::filter_block, at));
  const Soft soft(soft_, false);
  LLMRT_ASSIGN(const Expr* first, one_filter(nullptr));
  LLMRT_ASSIGN(s->expr, filters(first));
  LLMRT_ASSIGN(s->body, closed_block("endfilter", at));
  return s;
}

Result<Stmt*> StatementParser::with_statement(size_t at) {
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

Result<Stmt*> StatementParser::macro_statement(size_t at) {
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

Result<Target> StatementParser::target(bool with_members) {
  Target whole;
  whole.at = peek().at;
  bool is_tuple = false;
  std::vector<Target> parts;
  for (;;) {
    if (!parts.empty() && (is_word("in") || is(Type::block_end))) break;
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

Result<Target> StatementParser::one_target(bool with_members) {
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
    if (word == fixed) return fail(t.at, phrase("cannot assign to '", word, "'"));
  t.name = tree_.names.intern(word);
  if (with_members && skip(Type::dot)) {
    t.type = Target::Type::member;
    LLMRT_ASSIGN(const std::string_view member, expect_name("the name of a namespace's member"));
    t.member = word_value(member).text;
  }
  return t;
}

Result<std::unique_ptr<Tree>> parse_template(std::string_view text) {
  LLMRT_ASSIGN(Source source, Source::make(text));
  auto tree = std::make_unique<Tree>(std::move(source));
  LLMRT_ASSIGN(std::vector<LexToken> tokens, tokenize(tree->source, tree->constants));
  LLMRT_TRY(StatementParser(*tree, std::move(tokens)).run());
  return tree;
}

}  // namespace llmrt::jinja
