// The evaluator: walks a tree with one context and writes the output.
//
//   names:  scope -> parent scope -> ... -> root (an array by NameId: the template's globals, the context, set at top level)
//   A loop's body, a macro, a set block, a filter block and `with` open a scope; `if` does not. A macro sees the scope it was
//   defined in, as it is when called. Nothing set in a scope outlives it; a namespace is the only way out of a loop.
//
// Bounds: steps (one per node, more for work that grows with a value), output and memory, recursion. Every failure is
// template_error with its place.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/platform/stack.h"
#include "base/status.h"
#include "chat_template/chat_template.h"
#include "chat_template/template_ast.h"
#include "chat_template/template_builder.h"
#include "chat_template/template_builtins.h"

namespace llmrt::jinja {

// Nested nodes, over all macros in progress; the stack they take has a bound of its own (StackMark).
inline constexpr uint32_t kMaxEvalDepth = 600;
inline constexpr int64_t kMaxRange = 100'000;  // as jinja2's sandbox
inline constexpr size_t kMaxTextSize = size_t{1} << 30;

struct Scope {
  struct Binding {
    NameId name;
    Value value;
  };
  Scope* parent = nullptr;
  Binding* bindings = nullptr;
  uint32_t size = 0;
  uint32_t capacity = 0;
  bool captured = false;  // a macro was defined here: the scope must live on
};

struct Function {
  const Builtin* builtin = nullptr;  // of a macro: nullptr
  Value self;                        // of a method; unbound for a global
  const Macro* macro = nullptr;
  Scope* scope = nullptr;
  bool input = false;
};

// A running `for` whose body asks for `loop`.
struct Loop {
  Value iterable;
  Iterator rest;
  const Stmt* filter = nullptr;  // the loop with its condition, while items still pass through it
  Scope* scope = nullptr;        // around the loop
  int64_t index0 = -1;
  int64_t length = -1;
  Value current, before, after;  // unbound: none
  Value last_changed;
};

struct NamedValue {
  const Text* name = nullptr;
  Value value;
};
struct CallArguments {
  List positional;
  NamedValue* named = nullptr;
  uint32_t n_named = 0;
};

class Evaluator {
 public:
  Evaluator(const Tree& tree, const TemplateLimits& limits, Arena& arena, size_t max_output);

  Value* global(std::string_view name);  // nullptr if the template never mentions it
  void fix_clock(std::string answer) { clock_ = std::move(answer); }
  Result<TextBuilder> run();

  // --- for builtins and operators

  Arena& arena() { return arena_; }
  const std::string& fixed_clock() const { return clock_; }
  Status fail(uint32_t at, std::string_view sentence) const {
    return tree_.source.error_at(at, sentence);
  }
  Status fail(uint32_t at, const Status& sentence) const { return fail(at, sentence.message()); }
  // raise_exception: the template's own message, as it is.
  Status fail_raised(uint32_t at, std::string_view message) const {
    return tree_.source.error_as_is(at, message);
  }
  Status fail_undefined(uint32_t at, const Value& value) const;
  Status charge(uint32_t at, uint64_t steps);
  Status room_for(uint32_t at, uint64_t bytes) const;

  TextBuilder builder() const { return TextBuilder(std::min(arena_.room() / 2, kMaxTextSize)); }
  Result<Value> finish(uint32_t at, const TextBuilder& text);
  Result<Text> to_text(uint32_t at, const Value& value);  // str()
  Result<Value> join(uint32_t at, std::span<const Text> parts);

  Result<bool> equal(uint32_t at, const Value& a, const Value& b);
  Result<int> compare(uint32_t at, const Value& a, const Value& b);  // -1, 0, 1 or Comparison::kNaN
  Result<bool> contains(uint32_t at, const Value& needle, const Value& haystack);
  Result<Value> binary(uint32_t at, Op op, const Value& a, const Value& b);
  // may_be_method: false where the parser saw that no type has a method of this name.
  Result<Value> attribute(uint32_t at, const Value& object, const Text& name,
                          bool may_be_method = true);
  Result<Value> item(uint32_t at, const Value& object, const Value& key);
  Result<List*> collect(uint32_t at, const Value& iterable);  // list(iterable)

  Result<Value> apply(uint32_t at, const Builtin& builtin, const CallArguments& arguments);
  Result<Value> call(uint32_t at, const Value& function, const CallArguments& arguments);

 private:
  enum class Flow : uint8_t { next, break_loop, continue_loop };
  // One level of nesting; ok() is false past the bounds.
  class DepthGuard {
   public:
    explicit DepthGuard(Evaluator& run) : run_(run) { ++run_.depth_; }
    ~DepthGuard() { --run_.depth_; }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;
    bool ok() const { return run_.depth_ <= kMaxEvalDepth && !run_.stack_.exhausted(); }

   private:
    Evaluator& run_;
  };

  // Sends output into a text of its own while it lives.
  class Capture {
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

  // statements
  Result<Flow> exec_block(const Block& block);
  Result<Flow> exec(const Stmt& s);
  Result<Flow> exec_branches(const Stmt& s);
  Result<Flow> exec_loop(const Stmt& s);
  Result<Flow> exec_scoped(const Block& block, Scope* scope);
  Result<Flow> exec_set_block(const Stmt& s);
  Result<Flow> exec_filter_block(const Stmt& s);
  Result<Flow> exec_with(const Stmt& s);
  Status define_macro(const Stmt& s);
  Status print(const Stmt& s);
  Status write(uint32_t at, const Value& value);
  Status assign(const Target& target, const Value& value);
  Result<bool> next_of_loop(const Stmt& s, Iterator& rest, bool filtered, Scope* around,
                            Value* out);
  Result<bool> advance(Loop& loop, const Stmt& s);
  Result<Value> loop_attribute(uint32_t at, Loop& loop, std::string_view name);
  Result<bool> peek(uint32_t at, Loop& loop);

  // names
  Scope* new_scope(Scope* parent);
  void bind(NameId name, const Value& value);
  Value lookup(NameId name);

  // expressions
  Result<Value> eval(const Expr& e);
  Result<Value> eval_sequence(const Expr& e);
  Result<Value> eval_dict(const Expr& e);
  Result<Value> eval_slice(const Expr& e);
  Result<Value> eval_call(const Expr& e);
  Result<Value> eval_filter(const Expr& e);
  Result<Value> eval_test(const Expr& e);
  Result<Value> eval_sign(const Expr& e);
  Result<Value> eval_arithmetic(const Expr& e);
  Result<Value> eval_concat(const Expr& e);
  Result<Value> eval_logical(const Expr& e);
  Result<Value> eval_comparison(const Expr& e);
  Result<Value> eval_conditional(const Expr& e);
  Status eval_arguments(uint32_t at, const Arguments* arguments, CallArguments& out);
  Result<Value> call_macro(uint32_t at, const Function& function, const CallArguments& arguments);

  // operators
  Result<Value> add(uint32_t at, const Value& a, const Value& b);
  Result<Value> repeat(uint32_t at, const Value& sequence, int64_t times);
  Result<Value> arithmetic(uint32_t at, Op op, const Value& a, const Value& b);
  Result<Value> integer_arithmetic(uint32_t at, Op op, int64_t a, int64_t b);
  Result<bool> relation(uint32_t at, Op op, const Value& a, const Value& b);
  Result<Value> slice(uint32_t at, const Value& object, const Value& from, const Value& to,
                      const Value& step);
  Value bound_method(const Builtin& method, const Value& self);
  Value undefined_attribute(const Value& object, std::string_view name);

  const StackMark stack_;
  const Tree& tree_;
  TemplateLimits limits_;
  Arena& arena_;
  TextBuilder output_;
  TextBuilder* out_ = &output_;
  std::vector<Value> root_;  // by NameId
  Scope* scope_ = nullptr;   // nullptr: top level
  NameId loop_name_;
  Value block_text_;  // what a filter block's first filter takes
  std::string clock_;
  uint64_t steps_ = 0;
  uint32_t depth_ = 0;
  uint32_t calls_ = 0;
};

}  // namespace llmrt::jinja
