// Tokens to tree, by jinja2's grammar. What the language has and chat templates never use (include, import, extends, block, call,
// recursive loops, autoescape) is refused here, with its place. An unknown filter or test is refused here too, except inside an
// `if` or a conditional expression, where jinja2 too waits until it is reached.
#pragma once

#include <memory>

#include "chat_template/template_ast.h"

namespace llmrt::jinja {

Result<std::unique_ptr<Tree>> parse_template(std::string_view text);

}  // namespace llmrt::jinja
