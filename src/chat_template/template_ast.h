// The parsed template: immutable, shared by every thread that renders it.
//
// Chains of one precedence level (a + b - c, a ~ b, a and b, a < b < c) are one node with many operands, so the depth of the
// tree, and with it the recursion of the evaluator, is the depth of nesting: depth <= kMaxTreeDepth, nodes <= kMaxNodes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "chat_template/template_source.h"
#include "chat_template/template_value.h"

namespace llmrt::jinja {

inline constexpr uint32_t kMaxTreeDepth = 100;
// brackets, signs and blocks: the parser's own recursion, 3 KiB of stack each
inline constexpr uint32_t kMaxParseDepth = 64;
inline constexpr uint32_t kMaxNodes = 50'000;

struct Builtin;

using NameId = uint32_t;

// Names of variables, numbered, so that scopes compare integers.
class NameTable {
 public:
  NameId intern(std::string_view name);
  // size() if the template never mentions the name.
  NameId find(std::string_view name) const;
  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }
  const std::string& name(NameId id) const { return names_[id]; }

 private:
  std::deque<std::string> names_;  // the keys of ids_ point into it
  std::unordered_map<std::string_view, NameId> ids_;
};

struct Expr;

struct Keyword {
  const Text* name = nullptr;
  const Expr* value = nullptr;
};

struct Arguments {
  std::vector<const Expr*> positional;
  std::vector<Keyword> keywords;
  const Expr* star = nullptr;         // *args
  const Expr* double_star = nullptr;  // **kwargs
};

enum class Op : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,  // arithmetic
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  in,
  not_in,  // comparison
};

struct Expr {
  enum class Type : uint8_t {
    constant,     // value
    name,         // name
    list,         // operands
    tuple,        // operands
    dict,         // operands: key, value, key, value, ...
    attribute,    // operands[0] . value (a text)
    item,         // operands[0] [ operands[1] ]
    slice,        // operands[0] [ operands[1] : operands[2] : operands[3] ], absent parts nullptr
    call,         // operands[0] ( arguments )
    filter,       // operands[0] | builtin(arguments); operands empty: the body of a filter block
    test,         // operands[0] is builtin(arguments)
    negate,       // - operands[0]
    plus,         // + operands[0]
    logical_not,  // not operands[0]
    arithmetic,   // operands[0] ops[0] operands[1] ops[1] ..., left to right
    concat,       // operands[0] ~ operands[1] ~ ...
    logical_and,  // operands
    logical_or,   // operands
    comparison,   // operands[0] ops[0] operands[1] and operands[1] ops[1] ...
    conditional,  // operands[0] if operands[1] else operands[2] (may be nullptr)
  };
  Type type = Type::constant;
  uint32_t at = 0;
  uint32_t depth = 1;
  NameId name = 0;
  bool may_be_method = true;  // of an attribute: some type has a method of this name
  Value value;
  // nullptr: unknown, an error where it is reached; value holds the name
  const Builtin* builtin = nullptr;
  std::vector<const Expr*> operands;
  std::vector<Op> ops;
  const Arguments* arguments = nullptr;
};

// What is assigned to: a name, a member of a namespace, or a tuple of these.
struct Target {
  enum class Type : uint8_t { name, member, tuple } type = Type::name;
  uint32_t at = 0;
  NameId name = 0;
  const Text* member = nullptr;
  std::vector<Target> parts;
};

struct Stmt;
using Block = std::vector<const Stmt*>;

struct Branch {
  const Expr* condition = nullptr;  // nullptr: else
  Block body;
};

struct Parameter {
  NameId name = 0;
  const Text* text = nullptr;
  const Expr* fallback = nullptr;
};

struct Macro {
  const Text* name = nullptr;
  std::vector<Parameter> parameters;
  Block body;
  NameId varargs = 0, kwargs = 0;
  bool takes_varargs = false, takes_kwargs = false;  // the body mentions varargs, kwargs
};

struct Stmt {
  enum class Type : uint8_t {
    data,          // text
    print,         // expr
    branches,      // branches: if, elif, else
    loop,          // for target in expr if condition: body, else: other
    set,           // target = expr
    set_block,     // target = body through expr (a filter chain, may be nullptr)
    macro,         // macro, bound to name
    filter_block,  // body through expr
    with,          // targets[i] = values[i], then body in its own scope
    scope,         // body in its own scope (generation)
    break_loop,
    continue_loop,
  };
  Type type = Type::data;
  uint32_t at = 0;
  Text text;
  const Expr* expr = nullptr;
  const Expr* condition = nullptr;
  Target target;
  std::vector<Target> targets;
  std::vector<const Expr*> values;
  std::vector<Branch> branches;
  Block body, other;
  Macro macro;
  NameId name = 0;
  bool uses_loop = false;  // of a for: the body mentions `loop`
};

struct Tree {
  explicit Tree(Source text) : source(std::move(text)), constants(kConstantBytes) {}
  // a template is 256 KiB at most, so never reached
  static constexpr size_t kConstantBytes = size_t{64} << 20;

  Source source;
  Arena constants;
  NameTable names;
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  std::deque<Arguments> arguments;
  Block body;
};

}  // namespace llmrt::jinja
