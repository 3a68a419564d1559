// Statements, names and bounds of the evaluator.
#include <cstring>
#include <string>

#include "chat_template/template_eval.h"
#include "chat_template/template_text.h"

namespace llmrt::jinja {

Evaluator::Evaluator(const Tree& tree, const TemplateLimits& limits, Arena& arena,
                     size_t max_output)
    : tree_(tree),
      limits_(limits),
      arena_(arena),
      output_(max_output),
      root_(tree.names.size()),
      loop_name_(tree.names.find("loop")) {
  for (const Builtin& builtin : global_table()) {
    Value* slot = global(builtin.name);
    if (!slot) continue;
    Function* function = arena_.make<Function>();
    function->builtin = &builtin;
    slot->kind = Kind::function;
    slot->function = function;
  }
}

Value* Evaluator::global(std::string_view name) {
  const NameId id = tree_.names.find(name);
  return id < root_.size() ? &root_[id] : nullptr;
}

Result<TextBuilder> Evaluator::run() {
  LLMRT_ASSIGN(const Flow flow, exec_block(tree_.body));
  (void)flow;  // break and continue are parsed inside loops only
  return std::move(output_);
}

// --- bounds

Status Evaluator::charge(uint32_t at, uint64_t steps) {
  steps_ += steps;
  if (steps_ > limits_.max_steps)
    return fail(at, phrase("the template took more than ", limits_.max_steps, " steps"));
  if (arena_.over_limit()) return fail(at, "the template uses too much memory");
  return Status();
}

Status Evaluator::room_for(uint32_t at, uint64_t bytes) const {
  if (bytes > kMaxTextSize || !arena_.room_for(static_cast<size_t>(bytes) + 64))
    return fail(at, "the template uses too much memory");
  return Status();
}

Result<Value> Evaluator::finish(uint32_t at, const TextBuilder& text) {
  if (text.over_limit()) return fail(at, "the template makes a text that is too long");
  return Value::of_text(text.finish(arena_));
}

// --- names

Scope* Evaluator::new_scope(Scope* parent) {
  Scope* scope = arena_.make<Scope>();
  scope->parent = parent;
  return scope;
}

void Evaluator::bind(NameId name, const Value& value) {
  if (!scope_) {
    root_[name] = value;
    return;
  }
  Scope& s = *scope_;
  for (uint32_t i = 0; i < s.size; ++i) {
    if (s.bindings[i].name != name) continue;
    s.bindings[i].value = value;
    return;
  }
  if (s.size == s.capacity) {
    const uint32_t grown = s.capacity ? s.capacity * 2 : 4;
    auto* moved = arena_.array<Scope::Binding>(grown);
    if (s.size) std::memcpy(static_cast<void*>(moved), s.bindings, s.size * sizeof(Scope::Binding));
    s.bindings = moved;
    s.capacity = grown;
  }
  s.bindings[s.size++] = {name, value};
}

Value Evaluator::lookup(NameId name) {
  for (const Scope* s = scope_; s; s = s->parent)
    for (uint32_t i = 0; i < s->size; ++i)
      if (s->bindings[i].name == name) return s->bindings[i].value;
  const Value& value = root_[name];
  if (!value.is(Kind::unbound)) return value;
  // The texts of names outlive the arena: they lie in the tree.
  const std::string& spelling = tree_.names.name(name);
  return Value::undefined(
      make_text(arena_, {spelling.data(), nullptr, static_cast<uint32_t>(spelling.size()), false}));
}

// --- statements

Result<Evaluator::Flow> Evaluator::exec_block(const Block& block) {
  for (const Stmt* s : block) {
    LLMRT_ASSIGN(const Flow flow, exec(*s));
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Result<Evaluator::Flow> Evaluator::exec(const Stmt& s) {
  const DepthGuard depth(*this);
  if (!depth.ok()) return fail(s.at, "the template nests too deep");
  LLMRT_TRY(charge(s.at, 1));
  switch (s.type) {
    case Stmt::Type::data:
      out_->append(s.text);
      if (out_->over_limit()) return fail(s.at, "the template's output is too long");
      return Flow::next;
    case Stmt::Type::print:
      LLMRT_TRY(print(s));
      return Flow::next;
    case Stmt::Type::branches:
      return exec_branches(s);
    case Stmt::Type::loop:
      return exec_loop(s);
    case Stmt::Type::set: {
      LLMRT_ASSIGN(const Value value, eval(*s.expr));
      LLMRT_TRY(assign(s.target, value));
      return Flow::next;
    }
    case Stmt::Type::set_block:
      return exec_set_block(s);
    case Stmt::Type::macro:
      LLMRT_TRY(define_macro(s));
      return Flow::next;
    case Stmt::Type::filter_block:
      return exec_filter_block(s);
    case Stmt::Type::with:
      return exec_with(s);
    case Stmt::Type::scope:
      return exec_scoped(s.body, new_scope(scope_));
    case Stmt::Type::break_loop:
      return Flow::break_loop;
    case Stmt::Type::continue_loop:
      return Flow::continue_loop;
  }
  return Flow::next;
}

Status Evaluator::print(const Stmt& s) {
  LLMRT_ASSIGN(const Value value, eval(*s.expr));
  return write(s.expr->at, value);
}

Status Evaluator::write(uint32_t at, const Value& value) {
  if (value.is_text()) LLMRT_TRY(charge(at, value.text->size / 256));
  const Status written = write_str(*out_, value);
  if (!written.ok()) return fail(at, written);
  if (out_->over_limit()) return fail(at, "the template's output is too long");
  return Status();
}

Result<Evaluator::Flow> Evaluator::exec_branches(const Stmt& s) {
  for (const Branch& branch : s.branches) {
    if (branch.condition) {
      LLMRT_ASSIGN(const Value value, eval(*branch.condition));
      if (!truthy(value)) continue;
    }
    return exec_block(branch.body);
  }
  return Flow::next;
}

Result<Evaluator::Flow> Evaluator::exec_scoped(const Block& block, Scope* scope) {
  Scope* const before = scope_;
  scope_ = scope;
  Result<Flow> flow = exec_block(block);
  scope_ = before;
  return flow;
}

Result<Evaluator::Flow> Evaluator::exec_set_block(const Stmt& s) {
  Value value;
  {
    const Capture capture(*this);
    LLMRT_ASSIGN(const Flow flow, exec_scoped(s.body, new_scope(scope_)));
    if (flow != Flow::next) return flow;
    LLMRT_ASSIGN(value, finish(s.at, capture.text()));
  }
  if (s.expr) {
    block_text_ = value;
    LLMRT_ASSIGN(value, eval(*s.expr));
  }
  LLMRT_TRY(assign(s.target, value));
  return Flow::next;
}

Result<Evaluator::Flow> Evaluator::exec_filter_block(const Stmt& s) {
  Value value;
  {
    const Capture capture(*this);
    LLMRT_ASSIGN(const Flow flow, exec_scoped(s.body, new_scope(scope_)));
    if (flow != Flow::next) return flow;
    LLMRT_ASSIGN(value, finish(s.at, capture.text()));
  }
  block_text_ = value;
  LLMRT_ASSIGN(value, eval(*s.expr));
  LLMRT_TRY(write(s.at, value));
  return Flow::next;
}

Result<Evaluator::Flow> Evaluator::exec_with(const Stmt& s) {
  List values;
  for (const Expr* e : s.values) {
    LLMRT_ASSIGN(const Value value, eval(*e));
    values.push(arena_, value);
  }
  Scope* const before = scope_;
  scope_ = new_scope(before);
  Status bound;
  for (size_t i = 0; i < s.targets.size() && bound.ok(); ++i)
    bound = assign(s.targets[i], values.items[i]);
  Result<Flow> flow = bound.ok() ? exec_block(s.body) : Result<Flow>(std::move(bound));
  scope_ = before;
  return flow;
}

Status Evaluator::define_macro(const Stmt& s) {
  for (Scope* scope = scope_; scope && !scope->captured; scope = scope->parent)
    scope->captured = true;
  Function* function = arena_.make<Function>();
  function->macro = &s.macro;
  function->scope = scope_;
  Value value;
  value.kind = Kind::function;
  value.function = function;
  bind(s.name, value);
  return Status();
}

Status Evaluator::assign(const Target& target, const Value& value) {
  if (target.type == Target::Type::name) {
    bind(target.name, value);
    return Status();
  }
  if (target.type == Target::Type::member) {
    const Value object = lookup(target.name);
    if (!object.is(Kind::name_space))
      return fail(target.at, phrase("only a namespace's members can be assigned, this is of type ",
                                    type_name(object)));
    object.dict->set(arena_, Value::of_text(target.member), value);
    return Status();
  }
  Iterator items;
  if (!Iterator::over(value, &items))
    return fail(target.at, phrase("a value of type ", type_name(value), " cannot be unpacked"));
  Value item;
  for (const Target& part : target.parts) {
    if (!items.next(arena_, &item))
      return fail(target.at, phrase("too few values to unpack, expected ", target.parts.size()));
    LLMRT_TRY(charge(target.at, 1));
    LLMRT_TRY(assign(part, item));
  }
  if (items.next(arena_, &item))
    return fail(target.at, phrase("too many values to unpack, expected ", target.parts.size()));
  return Status();
}

}  // namespace llmrt::jinja
