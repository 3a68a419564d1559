#include "tokenizer/chat_template_eval.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "tokenizer/chat_template_text.h"

namespace llmrt::jinja {

// One level of nesting; ok() is false past the bound.
class Evaluator::DepthGuard {
 public:
  explicit DepthGuard(uint32_t& depth) : depth_(depth) { ++depth_; }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  bool ok() const { return depth_ <= kMaxEvalDepth; }

 private:
  uint32_t& depth_;
};

// Sends output into a text of its own while it lives.
class Evaluator::Capture {
 public:
  explicit Capture(Evaluator& run) : run_(run), before_(run.out_), text_(run.builder()) {
    run.out_ = &text_;
  }
  ~Capture() { run_.out_ = before_; }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  const TextBuilder& text() const { return text_; }

 private:
  Evaluator& run_;
  TextBuilder* before_;
  TextBuilder text_;
};

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
    return fail(at, "the template took more than " + std::to_string(limits_.max_steps) + " steps");
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
  const DepthGuard depth(depth_);
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

// The next item that passes the loop's condition, which sees the target in a scope of its own.
Result<bool> Evaluator::next_of_loop(const Stmt& s, Iterator& rest, bool filtered, Scope* around,
                                     Value* out) {
  Scope* const before = scope_;
  while (rest.next(arena_, out)) {
    LLMRT_TRY(charge(s.at, 1));
    if (!filtered || !s.condition) return true;
    scope_ = new_scope(around);
    Status bound = assign(s.target, *out);
    Result<Value> passes = bound.ok() ? eval(*s.condition) : Result<Value>(std::move(bound));
    scope_ = before;
    if (!passes.ok()) return std::move(passes).status();
    if (truthy(*passes)) return true;
  }
  return false;
}

Result<bool> Evaluator::advance(Loop& loop, const Stmt& s) {
  Value item = loop.after;
  if (!item.is(Kind::unbound)) {
    loop.after = Value();
  } else {
    LLMRT_ASSIGN(const bool more,
                 next_of_loop(s, loop.rest, loop.filter != nullptr, loop.scope, &item));
    if (!more) return false;
  }
  ++loop.index0;
  loop.before = loop.current;
  loop.current = item;
  return true;
}

Result<Evaluator::Flow> Evaluator::exec_loop(const Stmt& s) {
  LLMRT_ASSIGN(const Value iterable, eval(*s.expr));
  Loop* loop = arena_.make<Loop>();
  if (!Iterator::over(iterable, &loop->rest))
    return fail(s.expr->at,
                std::string("a value of type ") + type_name(iterable) + " cannot be iterated");
  loop->iterable = iterable;
  loop->filter = s.condition ? &s : nullptr;
  loop->scope = scope_;
  Value loop_value;
  loop_value.kind = Kind::loop;
  loop_value.loop = loop;

  Scope* const around = scope_;
  Scope* inner = new_scope(around);
  for (;;) {
    LLMRT_ASSIGN(const bool more, advance(*loop, s));
    if (!more) break;
    if (inner->captured) inner = new_scope(around);
    inner->size = 0;
    scope_ = inner;
    if (s.uses_loop) bind(loop_name_, loop_value);
    Status bound = assign(s.target, loop->current);
    Result<Flow> flow = bound.ok() ? exec_block(s.body) : Result<Flow>(std::move(bound));
    scope_ = around;
    if (!flow.ok()) return flow;
    if (*flow == Flow::break_loop) return Flow::next;
  }
  if (loop->index0 < 0 && !s.other.empty()) return exec_scoped(s.other, new_scope(around));
  return Flow::next;
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
      return fail(target.at, "only a namespace's members can be assigned, this is of type " +
                                 std::string(type_name(object)));
    object.dict->set(arena_, Value::of_text(target.member), value);
    return Status();
  }
  Iterator items;
  if (!Iterator::over(value, &items))
    return fail(target.at,
                std::string("a value of type ") + type_name(value) + " cannot be unpacked");
  Value item;
  for (const Target& part : target.parts) {
    if (!items.next(arena_, &item))
      return fail(target.at,
                  "too few values to unpack, expected " + std::to_string(target.parts.size()));
    LLMRT_TRY(charge(target.at, 1));
    LLMRT_TRY(assign(part, item));
  }
  if (items.next(arena_, &item))
    return fail(target.at,
                "too many values to unpack, expected " + std::to_string(target.parts.size()));
  return Status();
}

// --- expressions

Result<Value> Evaluator::eval(const Expr& e) {
  if (e.type == Expr::Type::constant) return e.value;
  const DepthGuard depth(depth_);
  if (!depth.ok()) return fail(e.at, "the template nests too deep");
  LLMRT_TRY(charge(e.at, 1));
  switch (e.type) {
    case Expr::Type::constant:
      return e.value;
    case Expr::Type::name:
      return lookup(e.name);
    case Expr::Type::list:
    case Expr::Type::tuple:
      return eval_sequence(e);
    case Expr::Type::dict:
      return eval_dict(e);
    case Expr::Type::attribute: {
      LLMRT_ASSIGN(const Value object, eval(*e.operands[0]));
      return attribute(e.at, object, *e.value.text, e.may_be_method);
    }
    case Expr::Type::item: {
      LLMRT_ASSIGN(const Value object, eval(*e.operands[0]));
      LLMRT_ASSIGN(const Value key, eval(*e.operands[1]));
      return item(e.at, object, key);
    }
    case Expr::Type::slice:
      return eval_slice(e);
    case Expr::Type::call:
      return eval_call(e);
    case Expr::Type::filter:
      return eval_filter(e);
    case Expr::Type::test:
      return eval_test(e);
    case Expr::Type::negate:
    case Expr::Type::plus:
      return eval_sign(e);
    case Expr::Type::logical_not: {
      LLMRT_ASSIGN(const Value value, eval(*e.operands[0]));
      return Value::of_bool(!truthy(value));
    }
    case Expr::Type::arithmetic:
      return eval_arithmetic(e);
    case Expr::Type::concat:
      return eval_concat(e);
    case Expr::Type::logical_and:
    case Expr::Type::logical_or:
      return eval_logical(e);
    case Expr::Type::comparison:
      return eval_comparison(e);
    case Expr::Type::conditional:
      return eval_conditional(e);
  }
  return Value::undefined();
}

Result<Value> Evaluator::eval_sequence(const Expr& e) {
  List* list = arena_.make<List>();
  for (const Expr* operand : e.operands) {
    LLMRT_ASSIGN(const Value value, eval(*operand));
    list->push(arena_, value);
  }
  return Value::of_list(list, e.type == Expr::Type::list ? Kind::list : Kind::tuple);
}

Result<Value> Evaluator::eval_dict(const Expr& e) {
  Dict* dict = arena_.make<Dict>();
  for (size_t i = 0; i < e.operands.size(); i += 2) {
    LLMRT_ASSIGN(const Value key, eval(*e.operands[i]));
    LLMRT_ASSIGN(const Value value, eval(*e.operands[i + 1]));
    if (!is_hashable(key))
      return fail(e.operands[i]->at,
                  std::string("a value of type ") + type_name(key) + " cannot be a key");
    dict->set(arena_, key, value);
  }
  return Value::of_dict(dict);
}

Result<Value> Evaluator::eval_slice(const Expr& e) {
  LLMRT_ASSIGN(const Value object, eval(*e.operands[0]));
  Value bounds[3] = {Value::of_none(), Value::of_none(), Value::of_none()};
  for (size_t i = 0; i < 3; ++i) {
    if (!e.operands[i + 1]) continue;
    LLMRT_ASSIGN(bounds[i], eval(*e.operands[i + 1]));
  }
  return slice(e.at, object, bounds[0], bounds[1], bounds[2]);
}

Status Evaluator::eval_arguments(uint32_t at, const Arguments* arguments, CallArguments& out) {
  if (!arguments) return Status();
  for (const Expr* e : arguments->positional) {
    LLMRT_ASSIGN(const Value value, eval(*e));
    out.positional.push(arena_, value);
  }
  if (arguments->star) {
    LLMRT_ASSIGN(const Value more, eval(*arguments->star));
    LLMRT_ASSIGN(const List* items, collect(arguments->star->at, more));
    for (const Value& item : *items) out.positional.push(arena_, item);
  }
  Dict* more_named = nullptr;
  if (arguments->double_star) {
    LLMRT_ASSIGN(const Value more, eval(*arguments->double_star));
    if (!more.is(Kind::dict))
      return fail(at, std::string("** needs a dict, this is of type ") + type_name(more));
    more_named = more.dict;
  }
  const size_t n = arguments->keywords.size() + (more_named ? more_named->size : 0);
  if (n == 0) return Status();
  LLMRT_TRY(room_for(at, n * sizeof(NamedValue)));
  out.named = arena_.array<NamedValue>(n);
  for (const Keyword& keyword : arguments->keywords) {
    LLMRT_ASSIGN(const Value value, eval(*keyword.value));
    out.named[out.n_named++] = {keyword.name, value};
  }
  for (uint32_t i = 0; more_named && i < more_named->size; ++i) {
    const Dict::Entry& entry = more_named->entries[i];
    if (!entry.key.is_text()) return fail(at, "the keys of a ** argument must be texts");
    out.named[out.n_named++] = {entry.key.text, entry.value};
  }
  return Status();
}

Result<Value> Evaluator::eval_call(const Expr& e) {
  LLMRT_ASSIGN(const Value function, eval(*e.operands[0]));
  if (!function.is(Kind::function)) {
    if (function.is(Kind::undefined)) return fail_undefined(e.operands[0]->at, function);
    return fail(e.at, std::string("a value of type ") + type_name(function) + " cannot be called");
  }
  CallArguments arguments;
  LLMRT_TRY(eval_arguments(e.at, e.arguments, arguments));
  return call(e.at, function, arguments);
}

Result<Value> Evaluator::call(uint32_t at, const Value& function, const CallArguments& arguments) {
  const Function& f = *function.function;
  if (f.macro) return call_macro(at, f, arguments);
  if (f.self.is(Kind::unbound)) return apply(at, *f.builtin, arguments);
  CallArguments with_self = arguments;
  with_self.positional = List();
  with_self.positional.push(arena_, f.self);
  for (const Value& argument : arguments.positional) with_self.positional.push(arena_, argument);
  return apply(at, *f.builtin, with_self);
}

Result<Value> Evaluator::eval_filter(const Expr& e) {
  CallArguments arguments;
  if (e.operands.empty()) {
    arguments.positional.push(arena_, block_text_);
  } else {
    LLMRT_ASSIGN(const Value value, eval(*e.operands[0]));
    arguments.positional.push(arena_, value);
  }
  if (!e.builtin)
    return fail(e.at, "unknown filter '" + std::string(e.value.text->view().substr(0, 40)) + "'");
  LLMRT_TRY(eval_arguments(e.at, e.arguments, arguments));
  return apply(e.at, *e.builtin, arguments);
}

Result<Value> Evaluator::eval_test(const Expr& e) {
  LLMRT_ASSIGN(const Value value, eval(*e.operands[0]));
  if (!e.builtin)
    return fail(e.at, "unknown test '" + std::string(e.value.text->view().substr(0, 40)) + "'");
  CallArguments arguments;
  arguments.positional.push(arena_, value);
  LLMRT_TRY(eval_arguments(e.at, e.arguments, arguments));
  return apply(e.at, *e.builtin, arguments);
}

Result<Value> Evaluator::apply(uint32_t at, const Builtin& builtin,
                               const CallArguments& arguments) {
  Call call{*this, at, builtin.name, {}, {}, {}};
  if (!builtin.function) return call.fail("not available in chat templates");
  size_t n_parameters = 0;
  while (n_parameters < kMaxParameters && builtin.parameters[n_parameters]) ++n_parameters;
  const size_t n_positional = arguments.positional.size;
  for (size_t i = 0; i < n_positional && i < n_parameters; ++i)
    call.args[i] = arguments.positional.items[i];
  if (n_positional > n_parameters) {
    if (!builtin.variadic)
      return call.fail("takes at most " + std::to_string(n_parameters) + " arguments");
    call.rest = {arguments.positional.items + n_parameters, n_positional - n_parameters};
  }
  uint32_t n_other = 0;
  for (uint32_t k = 0; k < arguments.n_named; ++k) {
    const NamedValue& named = arguments.named[k];
    size_t i = 0;
    while (i < n_parameters && named.name->view() != builtin.parameters[i]) ++i;
    if (i < n_parameters) {
      if (call.given(i))
        return call.fail("'" + std::string(builtin.parameters[i]) + "' is given twice");
      call.args[i] = named.value;
    } else if (builtin.variadic) {
      arguments.named[n_other++] = named;
    } else {
      return call.fail("has no argument '" + std::string(named.name->view().substr(0, 40)) + "'");
    }
  }
  call.named = {arguments.named, n_other};
  for (size_t i = 0; i < builtin.n_required; ++i)
    if (!call.given(i)) return call.fail("'" + std::string(builtin.parameters[i]) + "' is missing");
  return builtin.function(call);
}

Result<Value> Evaluator::call_macro(uint32_t at, const Function& function,
                                    const CallArguments& arguments) {
  const Macro& macro = *function.macro;
  const auto fail_call = [&](const std::string& sentence) {
    return fail(at, "macro '" + std::string(macro.name->view().substr(0, 40)) + "' " + sentence);
  };
  if (calls_ >= limits_.max_depth)
    return fail_call("is called deeper than " + std::to_string(limits_.max_depth) + " levels");

  struct Frame {  // restores the caller's scope on every way out
    Evaluator& run;
    Scope* scope;
    ~Frame() {
      run.scope_ = scope;
      --run.calls_;
    }
  };
  const Frame frame{*this, scope_};
  ++calls_;
  scope_ = new_scope(function.scope);

  const size_t n_parameters = macro.parameters.size();
  const uint32_t n_positional = arguments.positional.size;
  std::vector<bool> used(arguments.n_named);
  for (size_t i = 0; i < n_parameters; ++i) {
    const Parameter& p = macro.parameters[i];
    if (i < n_positional) {
      bind(p.name, arguments.positional.items[i]);
      continue;
    }
    uint32_t k = 0;
    while (k < arguments.n_named && arguments.named[k].name->view() != p.text->view()) ++k;
    if (k < arguments.n_named) {
      used[k] = true;
      bind(p.name, arguments.named[k].value);
    } else if (p.fallback) {
      LLMRT_ASSIGN(const Value value, eval(*p.fallback));
      bind(p.name, value);
    } else {
      bind(p.name, Value::undefined(p.text));
    }
  }
  if (macro.takes_kwargs) {
    Dict* rest = arena_.make<Dict>();
    for (uint32_t k = 0; k < arguments.n_named; ++k)
      if (!used[k])
        rest->set(arena_, Value::of_text(arguments.named[k].name), arguments.named[k].value);
    bind(macro.kwargs, Value::of_dict(rest));
  } else {
    for (uint32_t k = 0; k < arguments.n_named; ++k)
      if (!used[k])
        return fail_call("has no argument '" +
                         std::string(arguments.named[k].name->view().substr(0, 40)) + "'");
  }
  if (macro.takes_varargs) {
    List* rest = arena_.make<List>();
    for (uint32_t i = static_cast<uint32_t>(n_parameters); i < n_positional; ++i)
      rest->push(arena_, arguments.positional.items[i]);
    bind(macro.varargs, Value::of_list(rest, Kind::tuple));
  } else if (n_positional > n_parameters) {
    return fail_call("takes at most " + std::to_string(n_parameters) + " arguments");
  }

  const Capture capture(*this);
  LLMRT_ASSIGN(const Flow flow, exec_block(macro.body));
  (void)flow;
  return finish(at, capture.text());
}

Result<Value> Evaluator::eval_sign(const Expr& e) {
  LLMRT_ASSIGN(Value value, eval(*e.operands[0]));
  if (value.is(Kind::undefined)) return fail_undefined(e.operands[0]->at, value);
  if (!value.is_number())
    return fail(e.at, std::string("a value of type ") + type_name(value) + " has no sign");
  const bool minus = e.type == Expr::Type::negate;
  if (!value.is(Kind::real)) {
    if (minus && value.as_int() == INT64_MIN) return fail(e.at, "an integer result beyond 64 bits");
    const bool input = value.input;
    value = Value::of_int(minus ? -value.as_int() : value.as_int());
    value.input = input;
  } else if (minus) {
    value.real = -value.real;
  }
  return value;
}

Result<Value> Evaluator::eval_arithmetic(const Expr& e) {
  LLMRT_ASSIGN(Value value, eval(*e.operands[0]));
  for (size_t i = 0; i < e.ops.size(); ++i) {
    LLMRT_ASSIGN(const Value next, eval(*e.operands[i + 1]));
    LLMRT_ASSIGN(value, binary(e.at, e.ops[i], value, next));
  }
  return value;
}

Result<Value> Evaluator::eval_concat(const Expr& e) {
  std::vector<Text> parts(e.operands.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    LLMRT_ASSIGN(const Value value, eval(*e.operands[i]));
    LLMRT_ASSIGN(parts[i], to_text(e.operands[i]->at, value));
  }
  return join(e.at, parts);
}

Result<Value> Evaluator::eval_logical(const Expr& e) {
  const bool is_or = e.type == Expr::Type::logical_or;
  Value value;
  for (const Expr* operand : e.operands) {
    LLMRT_ASSIGN(value, eval(*operand));
    if (truthy(value) == is_or) break;
  }
  return value;
}

Result<Value> Evaluator::eval_comparison(const Expr& e) {
  LLMRT_ASSIGN(Value left, eval(*e.operands[0]));
  for (size_t i = 0; i < e.ops.size(); ++i) {
    LLMRT_ASSIGN(const Value right, eval(*e.operands[i + 1]));
    LLMRT_ASSIGN(const bool holds, relation(e.at, e.ops[i], left, right));
    if (!holds) return Value::of_bool(false);
    left = right;
  }
  return Value::of_bool(true);
}

Result<Value> Evaluator::eval_conditional(const Expr& e) {
  LLMRT_ASSIGN(const Value condition, eval(*e.operands[1]));
  if (truthy(condition)) return eval(*e.operands[0]);
  if (e.operands[2]) return eval(*e.operands[2]);
  return Value::undefined();
}

}  // namespace llmrt::jinja
