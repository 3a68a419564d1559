// The memory that a model and an engine would take, as the tool tells it.
#pragma once

#include "support.h"

namespace cli {

Json plan_json(const llmrt_plan_info& info);
// Indented lines for a person.
std::string plan_text(const Json& plan);

}  // namespace cli
