// What a template can take, found out by rendering small conversations with it.
#pragma once

#include "chat_template/chat_template.h"

namespace llmrt {

TemplateCaps probe_caps(const ChatTemplate& chat_template);

}  // namespace llmrt
