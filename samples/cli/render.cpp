// llmrt render: chat messages to the prompt text a template makes of them.
#include <memory>

#include "commands.h"
#include "options.h"

namespace cli {
namespace {

struct RenderArgs {
  ModelArgs model;
  std::string template_file, messages, tools, kwargs;
  bool no_generation_prompt = false;
};

// The file's text, or nothing for an option that was not given.
std::string optional_file(const std::string& path) {
  return path.empty() ? std::string() : read_file(path);
}
const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

// The library speaks of its arguments, the user gave files.
void check_rendered(const RenderArgs& args, llmrt_status status) {
  if (status >= 0) return;
  try {
    throw_last_error();
  } catch (Failure& failure) {
    const std::pair<const char*, const std::string&> files[] = {
        {"messages_json", args.messages},
        {"tools_json", args.tools},
        {"kwargs_json", args.kwargs},
        {"chat template", args.template_file},
        {"template_text", args.template_file}};
    bool named = false;
    for (const auto& [argument, file] : files)
      named = named || (!file.empty() && rename_subject(failure.sentence, argument, file));
    if (!named && failure.status == LLMRT_ERR_TEMPLATE && !args.template_file.empty())
      failure.sentence = args.template_file + ", " + failure.sentence;
    throw;
  }
}

int render(const RenderArgs& args) {
  if (args.model.path.empty() == args.template_file.empty())
    fail_usage("give either MODEL or --template FILE");
  const std::string messages = read_file(args.messages);
  const std::string tools = optional_file(args.tools);
  const std::string kwargs = optional_file(args.kwargs);
  const int32_t prompt = args.no_generation_prompt ? 0 : 1;
  char* text = nullptr;
  if (!args.template_file.empty()) {
    const std::string source = read_file(args.template_file);
    check_rendered(args, llmrt_template_render(source.c_str(), messages.c_str(), or_null(tools),
                                               or_null(kwargs), prompt, &text));
  } else {
    const Loaded loaded = load(args.model, true);
    check_rendered(args, llmrt_chat_render(loaded.model.get(), messages.c_str(), or_null(tools),
                                           or_null(kwargs), prompt, &text));
  }
  write_out(take_text(text));
  return 0;
}

}  // namespace

Command add_render(CLI::App& app) {
  auto args = std::make_shared<RenderArgs>();
  CLI::Option* model = args->model.add_path(app);
  CLI::Option* own = args->model.add_chat_template(app);
  CLI::Option* overrides = args->model.add_overrides(app);
  app.add_option("--template", args->template_file, "FILE with a chat template, instead of a model")
      ->type_name("FILE")
      ->excludes(model)
      ->excludes(own)
      ->excludes(overrides);
  app.add_option("--messages", args->messages, "FILE with a JSON array of messages")
      ->required()
      ->type_name("FILE");
  app.add_option("--tools", args->tools, "FILE with a JSON array of tools")->type_name("FILE");
  app.add_option("--kwargs", args->kwargs,
                 "FILE with a JSON object of template variables, bos_token and the like")
      ->type_name("FILE");
  app.add_flag("--no-generation-prompt", args->no_generation_prompt,
               "do not open the assistant's turn");
  return [args] { return render(*args); };
}

}  // namespace cli
