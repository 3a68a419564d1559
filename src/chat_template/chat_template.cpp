#include "chat_template/chat_template.h"

#include <algorithm>

#include "base/float_control.h"
#include "chat_template/template_caps.h"
#include "chat_template/template_eval.h"
#include "chat_template/template_json.h"
#include "chat_template/template_parser.h"

namespace llmrt {

namespace {

class JinjaTemplate : public ChatTemplate {
 public:
  JinjaTemplate(std::string_view source, std::unique_ptr<jinja::Tree> tree)
      : source_(source), tree_(std::move(tree)) {}

  Result<RenderedText> render(std::string_view context_json,
                              std::span<const std::string_view> trusted,
                              const TemplateLimits& limits) const override {
    const FloatScope floats(FloatMode::ieee);
    // Memory: the values of the input (a JSON number may grow to 40 bytes), and room to work.
    const uint64_t input = context_json.size() + source_.size();
    const uint64_t max_output = std::min(limits.max_output, 64 * input + (uint64_t{1} << 20));
    jinja::Arena arena((size_t{32} << 20) + static_cast<size_t>(16 * input + 4 * max_output));
    LLMRT_ASSIGN(const jinja::Value context, jinja::json_value(context_json, arena, true, trusted));
    if (!context.is(jinja::Kind::dict))
      return error(Code::invalid_argument,
                   "the template's context is of type %s, it must be a JSON object",
                   jinja::type_name(context));

    jinja::Evaluator run(*tree_, limits, arena, static_cast<size_t>(max_output));
    for (uint32_t i = 0; i < context.dict->size; ++i) {
      const auto& [key, value] = context.dict->entries[i];
      if (key.text->view() == "strftime_now" && value.is_text())
        run.fix_clock(std::string(value.text->view()));
      else if (jinja::Value* slot = run.global(key.text->view()))
        *slot = value;
    }
    LLMRT_ASSIGN(jinja::TextBuilder output, run.run());
    RenderedText rendered;
    size_t begin = 0;
    for (const jinja::TextBuilder::Run& part : output.runs()) {
      rendered.spans.push_back({begin, part.end, !part.input});
      begin = part.end;
    }
    rendered.text = std::move(output.bytes());
    return rendered;
  }

  const std::string& source() const override { return source_; }
  const TemplateCaps& caps() const override { return caps_; }
  void probe() { caps_ = probe_caps(*this); }

 private:
  std::string source_;
  std::unique_ptr<const jinja::Tree> tree_;
  TemplateCaps caps_;
};

}  // namespace

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::parse(std::string_view source) {
  const FloatScope floats(FloatMode::ieee);
  LLMRT_ASSIGN(std::unique_ptr<jinja::Tree> tree, jinja::parse_template(source));
  auto parsed = std::make_shared<JinjaTemplate>(source, std::move(tree));
  parsed->probe();
  return std::shared_ptr<const ChatTemplate>(std::move(parsed));
}

}  // namespace llmrt
