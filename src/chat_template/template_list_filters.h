// What the filters on sequences share.
#pragma once

#include <vector>

#include "chat_template/template_builtins.h"

namespace llmrt::jinja {

// A value that iterates over the items once.
Value generator(Call& call, const List& items);

// "a.b.0" or 3: the path that an `attribute` argument names; numbers in it are indices.
using Path = std::vector<Value>;
Result<Path> path_of(Call& call, const Value& attribute);
// What lies at the path in the item; `otherwise`, where given, stands for each part that is undefined.
Result<Value> follow(Call& call, Value item, const Path& path, const Value& otherwise = Value());

}  // namespace llmrt::jinja
