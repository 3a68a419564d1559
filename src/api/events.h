// Events as the C API shows them.
#pragma once

#include <string>

#include "engine/engine.h"
#include "llmrt.h"

namespace llmrt::api {

// text is lent out by the event: it must live as long as the event promises.
llmrt_event to_event(const Event& event, const std::string& text, llmrt_request* handle);

}  // namespace llmrt::api
