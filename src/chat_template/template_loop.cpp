// `for` and its loop variable. Items are drawn one by one, so a condition sees what the body did before; last, nextitem and
// length look ahead, as in jinja2.
#include "chat_template/template_eval.h"

namespace llmrt::jinja {

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
    return fail(s.expr->at, phrase("a value of type ", type_name(iterable), " cannot be iterated"));
  loop->iterable = iterable;
  loop->filter = s.condition ? &s : nullptr;
  loop->scope = scope_;
  Value loop_value;
  loop_value.kind = Kind::loop;
  loop_value.loop = loop;

  Scope* const around = scope_;
  Scope* inner = new_scope(around);
  bool completed = false;  // some round ran to its end: jinja2 does the else part only if none did
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
    if (*flow == Flow::break_loop) break;
    completed = completed || *flow == Flow::next;
  }
  if (!completed && !s.other.empty()) return exec_scoped(s.other, new_scope(around));
  return Flow::next;
}

Result<bool> Evaluator::peek(uint32_t at, Loop& loop) {
  if (!loop.after.is(Kind::unbound)) return true;
  LLMRT_TRY(charge(at, 1));
  Value item;
  bool more = false;
  if (loop.filter) {
    LLMRT_ASSIGN(more, next_of_loop(*loop.filter, loop.rest, true, loop.scope, &item));
  } else {
    more = loop.rest.next(arena_, &item);
  }
  if (more) loop.after = item;
  return more;
}

Result<Value> Evaluator::loop_attribute(uint32_t at, Loop& loop, std::string_view name) {
  const auto length = [&]() -> Result<int64_t> {
    if (loop.length >= 0) return loop.length;
    loop.length = loop.filter ? -1 : length_of(loop.iterable);
    if (loop.length >= 0) return loop.length;
    Generator* rest = arena_.make<Generator>();
    Value item;
    for (;;) {
      bool more = false;
      if (loop.filter) {
        LLMRT_ASSIGN(more, next_of_loop(*loop.filter, loop.rest, true, loop.scope, &item));
      } else {
        more = loop.rest.next(arena_, &item);
      }
      if (!more) break;
      LLMRT_TRY(charge(at, 1));
      rest->items.push(arena_, item);
    }
    loop.filter = nullptr;
    Value generator;
    generator.kind = Kind::generator;
    generator.generator = rest;
    Iterator::over(generator, &loop.rest);
    loop.length = rest->items.size + loop.index0 + 1 + (loop.after.is(Kind::unbound) ? 0 : 1);
    return loop.length;
  };
  if (name == "index0") return Value::of_int(loop.index0);
  if (name == "index") return Value::of_int(loop.index0 + 1);
  if (name == "first") return Value::of_bool(loop.index0 == 0);
  if (name == "last") {
    LLMRT_ASSIGN(const bool more, peek(at, loop));
    return Value::of_bool(!more);
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    LLMRT_ASSIGN(const int64_t n, length());
    return Value::of_int(name == "length" ? n : n - loop.index0 - (name == "revindex" ? 0 : 1));
  }
  if (name == "previtem") {
    if (!loop.before.is(Kind::unbound)) return loop.before;
    return Value::undefined(copy_text(arena_, "there is no previous item", false));
  }
  if (name == "nextitem") {
    LLMRT_ASSIGN(const bool more, peek(at, loop));
    if (more) return loop.after;
    return Value::undefined(copy_text(arena_, "there is no next item", false));
  }
  if (name == "depth") return Value::of_int(1);
  if (name == "depth0") return Value::of_int(0);
  Value self;
  self.kind = Kind::loop;
  self.loop = &loop;
  if (name == "cycle") return bound_method(loop_cycle(), self);
  if (name == "changed") return bound_method(loop_changed(), self);
  return undefined_attribute(self, name);
}

}  // namespace llmrt::jinja
