// The templates that can be asked for by name. Well-known prompt formats in our own wording, in the subset that chat_template runs.
// Roles they do not know are refused rather than dropped.
#include "chat_template/chat_template.h"

namespace llmrt {

namespace {

constexpr const char* kChatml = R"({% for message in messages %}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% endif %}
)"
                                "\n";

constexpr const char* kLlama3 = R"({{- bos_token }}
{%- for message in messages %}
  {{- '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)";

constexpr const char* kMistral = R"({%- if messages and messages[0].role == 'system' %}
  {%- set system = messages[0].content | trim + '\n\n' %}
  {%- set turns = messages[1:] %}
{%- else %}
  {%- set system = '' %}
  {%- set turns = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in turns %}
  {%- if message.role != ('assistant' if loop.index0 % 2 else 'user') %}
    {{- raise_exception('messages must alternate between user and assistant, after an optional system message') }}
  {%- endif %}
  {%- if message.role == 'user' %}
    {{- '[INST] ' + (system if loop.first else '') + message.content | trim + ' [/INST]' }}
  {%- else %}
    {{- ' ' + message.content | trim + eos_token }}
  {%- endif %}
{%- endfor %}
)";

constexpr const char* kGemma = R"({%- if messages and messages[0].role == 'system' %}
  {%- set system = messages[0].content | trim + '\n\n' %}
  {%- set turns = messages[1:] %}
{%- else %}
  {%- set system = '' %}
  {%- set turns = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in turns %}
  {%- if message.role != ('assistant' if loop.index0 % 2 else 'user') %}
    {{- raise_exception('messages must alternate between user and assistant, after an optional system message') }}
  {%- endif %}
  {{- '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\n' }}
  {{- (system if loop.first else '') + message.content | trim + '<end_of_turn>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<start_of_turn>model\n' }}
{%- endif %}
)";

constexpr const char* kPhi3 = R"({%- for message in messages %}
  {%- if message.role not in ['system', 'user', 'assistant'] %}
    {{- raise_exception('roles are system, user and assistant') }}
  {%- endif %}
  {{- '<|' + message.role + '|>\n' + message.content + '<|end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- '<|assistant|>\n' }}
{%- endif %}
)";

struct NamedTemplate {
  std::string_view name;
  const char* text;
};
constexpr NamedTemplate kTemplates[] = {{"chatml", kChatml},
                                        {"llama3", kLlama3},
                                        {"mistral", kMistral},
                                        {"gemma", kGemma},
                                        {"phi3", kPhi3}};

}  // namespace

const char* builtin_chat_template(std::string_view name) {
  for (const NamedTemplate& t : kTemplates)
    if (t.name == name) return t.text;
  return nullptr;
}

std::string builtin_chat_template_names() {
  std::string names;
  for (const NamedTemplate& t : kTemplates) names.append(names.empty() ? "" : ", ").append(t.name);
  return names;
}

}  // namespace llmrt
