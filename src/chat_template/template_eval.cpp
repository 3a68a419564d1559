// Expressions and calls of the evaluator.
#include "chat_template/template_eval.h"

#include <string>

#include "tokenizer/unicode.h"

namespace llmrt::jinja {

Result<Value> Evaluator::eval(const Expr& e) {
  if (e.type == Expr::Type::constant) return e.value;
  const DepthGuard depth(*this);
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
      if (object.is(Kind::undefined)) return fail_undefined(e.operands[0]->at, object);
      return attribute(e.at, object, *e.value.text, e.may_be_method);
    }
    case Expr::Type::item: {
      LLMRT_ASSIGN(const Value object, eval(*e.operands[0]));
      LLMRT_ASSIGN(const Value key, eval(*e.operands[1]));
      if (object.is(Kind::undefined)) return fail_undefined(e.operands[0]->at, object);
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
                  phrase("a value of type ", type_name(key), " cannot be a key"));
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
      return fail(at, phrase("** needs a dict, this is of type ", type_name(more)));
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
    return fail(e.at, phrase("a value of type ", type_name(function), " cannot be called"));
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
    return fail(e.at, phrase("unknown filter '", utf8_head(e.value.text->view(), 40), "'"));
  LLMRT_TRY(eval_arguments(e.at, e.arguments, arguments));
  return apply(e.at, *e.builtin, arguments);
}

Result<Value> Evaluator::eval_test(const Expr& e) {
  LLMRT_ASSIGN(const Value value, eval(*e.operands[0]));
  if (!e.builtin)
    return fail(e.at, phrase("unknown test '", utf8_head(e.value.text->view(), 40), "'"));
  CallArguments arguments;
  arguments.positional.push(arena_, value);
  LLMRT_TRY(eval_arguments(e.at, e.arguments, arguments));
  return apply(e.at, *e.builtin, arguments);
}

Result<Value> Evaluator::apply(uint32_t at, const Builtin& builtin,
                               const CallArguments& arguments) {
  if (stack_.exhausted()) return fail(at, "the template nests too deep");  // 'map' applies 'map'
  Call call{*this, at, builtin.name, {}, {}, {}};
  if (!builtin.function) return call.fail("not available in chat templates");
  size_t n_parameters = 0;
  while (n_parameters < kMaxParameters && builtin.parameters[n_parameters]) ++n_parameters;
  const size_t n_positional = arguments.positional.size;
  for (size_t i = 0; i < n_positional && i < n_parameters; ++i)
    call.args[i] = arguments.positional.items[i];
  if (n_positional > n_parameters) {
    if (!builtin.variadic) return call.fail(phrase("takes at most ", n_parameters, " arguments"));
    call.rest = {arguments.positional.items + n_parameters, n_positional - n_parameters};
  }
  uint32_t n_other = 0;
  for (uint32_t k = 0; k < arguments.n_named; ++k) {
    const NamedValue& named = arguments.named[k];
    size_t i = 0;
    while (i < n_parameters && named.name->view() != builtin.parameters[i]) ++i;
    if (i < n_parameters) {
      if (call.given(i)) return call.fail(phrase("'", builtin.parameters[i], "' is given twice"));
      call.args[i] = named.value;
    } else if (builtin.variadic) {
      arguments.named[n_other++] = named;
    } else {
      return call.fail(phrase("has no argument '", utf8_head(named.name->view(), 40), "'"));
    }
  }
  call.named = {arguments.named, n_other};
  for (size_t i = 0; i < builtin.n_required; ++i)
    if (!call.given(i)) return call.fail(phrase("'", builtin.parameters[i], "' is missing"));
  return builtin.function(call);
}

Result<Value> Evaluator::call_macro(uint32_t at, const Function& function,
                                    const CallArguments& arguments) {
  const Macro& macro = *function.macro;
  const auto fail_call = [&](const std::string& sentence) {
    return fail(at, phrase("macro '", utf8_head(macro.name->view(), 40), "' ", sentence));
  };
  if (calls_ >= limits_.max_depth)
    return fail_call(phrase("is called deeper than ", limits_.max_depth, " levels"));

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
        return fail_call(
            phrase("has no argument '", utf8_head(arguments.named[k].name->view(), 40), "'"));
  }
  if (macro.takes_varargs) {
    List* rest = arena_.make<List>();
    for (uint32_t i = static_cast<uint32_t>(n_parameters); i < n_positional; ++i)
      rest->push(arena_, arguments.positional.items[i]);
    bind(macro.varargs, Value::of_list(rest, Kind::tuple));
  } else if (n_positional > n_parameters) {
    return fail_call(phrase("takes at most ", n_parameters, " arguments"));
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
    return fail(e.at, phrase("a value of type ", type_name(value), " has no sign"));
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

Value Evaluator::bound_method(const Builtin& method, const Value& self) {
  Function* function = arena_.make<Function>();
  function->builtin = &method;
  function->self = self;
  Value value;
  value.kind = Kind::function;
  value.function = function;
  return value;
}

}  // namespace llmrt::jinja
