// llmrt run: one prompt, one answer (or several samples of it).
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "commands.h"
#include "options.h"
#include "stream.h"

namespace cli {
namespace {

struct RunArgs {
  ModelArgs model;
  EngineArgs engine;
  GenArgs gen;
  PromptArgs prompt;
  std::string system;
  bool raw = false, special = false, json = false;
};

Owned<llmrt_request> submit(RunArgs& args, llmrt_engine* engine, const std::string& prompt) {
  llmrt_request* request = nullptr;
  if (args.raw) {
    args.gen.options.text_flags = args.special ? 2 : 0;
    check(llmrt_submit_text(engine, prompt.data(), prompt.size(), &args.gen.finished(), &request));
  } else {
    Json messages = Json::array();
    if (!args.system.empty()) messages.push_back({{"role", "system"}, {"content", args.system}});
    messages.push_back({{"role", "user"}, {"content", prompt}});
    const std::string text = messages.dump();
    check(llmrt_submit_chat(engine, text.c_str(), &args.gen.finished(), &request));
  }
  return Owned<llmrt_request>(request);
}

Json sample_json(llmrt_request* request, int32_t sample, bool logprobs) {
  char* text = nullptr;
  check(llmrt_request_text(request, sample, &text));
  Json json = {{"text", take_text(text)},
               {"token_ids", tokens_of(request, sample)},
               {"finish", finish_word(request, sample)}};
  if (logprobs) {
    char* message = nullptr;
    check(llmrt_request_message(request, sample, &message));
    json["logprobs"] = Json::parse(take_text(message), nullptr, false)["logprobs"];
  }
  return json;
}

void print_result(const RunArgs& args, llmrt_request* request) {
  const int32_t n = args.gen.options.n;
  const bool logprobs = args.gen.options.logprobs > 0;
  Json json = sample_json(request, 0, logprobs);
  json["usage"] = usage_json(request);
  if (n > 1) {
    Json samples = Json::array();
    for (int32_t i = 0; i < n; ++i) samples.push_back(sample_json(request, i, logprobs));
    json["samples"] = std::move(samples);
  }
  print_json(json);
}

// An empty line between two texts; their numbers go where they are in no one's way.
void print_samples(const llmrt_gen_options& options, llmrt_request* request) {
  for (int32_t i = 0; i < options.n; ++i) {
    if (i > 0) write_out("\n");
    std::fprintf(stderr, "(sample %d of %d)\n", i + 1, options.n);
    char* text = nullptr;
    check(llmrt_request_text(request, i, &text));
    write_out(take_text(text) + "\n");
    tell_if_cut(request, i, options.max_tokens);
  }
}

// Options that say something about what is not done here would be lost without a word.
void check_company(const RunArgs& args) {
  if (args.special && !args.raw)
    fail_usage("--special belongs to --raw: a chat's special tokens come from the template");
  if (args.raw && !args.system.empty())
    fail_usage("--system belongs to a chat: --raw continues the text itself");
  if (args.raw && !args.model.chat_template.empty())
    fail_usage("--chat-template belongs to a chat: --raw continues the text itself");
  if (args.gen.options.logprobs != 0 && !args.json)
    fail_usage("--logprobs belongs to --json, which prints them");
  if (args.gen.options.logprobs_processed != 0 && args.gen.options.logprobs == 0)
    fail_usage("--logprobs-processed belongs to --logprobs: it says of what these are");
}

int run(RunArgs& args) {
  check_company(args);
  check_utf8("--system", args.system);
  const std::string prompt = args.prompt.read();
  if (prompt.empty())
    fail_usage(args.prompt.typed() || args.prompt.file
                   ? "the prompt is empty"
                   : "no prompt was given, and standard input is empty");
  const Loaded loaded = load(args.model);
  llmrt_engine_options options;
  llmrt_engine_options_init(&options, sizeof options);
  fill(args.engine, options);
  options.overflow = 1;  // a full context ends the answer with finish "length"
  const auto engine = make_engine(loaded, options);
  warn_beyond_training(loaded, args.engine);
  const auto request = submit(args, engine.get(), prompt);

  const bool stream = !args.json && args.gen.options.n == 1;
  const llmrt_status status = follow(request.get(), [&](std::string_view text) {
    if (stream) write_out(text);
  });
  if (stream && (status == LLMRT_OK || status == LLMRT_ERR_CANCELLED)) write_out("\n");
  if (args.json) print_result(args, request.get());  // of a bad end too: finish tells it
  if (interrupted()) throw_interrupted();
  check(llmrt_request_wait(request.get(), 0));  // once more: printing has its own last errors
  if (stream)
    tell_if_cut(request.get(), 0, args.gen.options.max_tokens);
  else if (!args.json)
    print_samples(args.gen.options, request.get());
  if (isatty(STDERR_FILENO)) print_usage(request.get());
  return 0;
}

}  // namespace

Command add_run(CLI::App& app) {
  auto args = std::make_shared<RunArgs>();
  args->model.add_computing(app);
  args->model.add_cache_dir(app);
  args->model.add_chat_template(app);
  args->engine.add_to(app);
  args->gen.add_to(app);
  args->prompt.add_to(app, true);
  add_number(app, "--samples", args->gen.options.n, "answers to the same prompt")
      ->capture_default_str();
  add_number(app, "--n", args->gen.options.n, "the same, for scripts: too near to -n to be shown")
      ->group("");
  add_number(app, "--logprobs", args->gen.options.logprobs,
             "with --json: the N most probable tokens at each place");
  app.add_flag("--logprobs-processed", args->gen.options.logprobs_processed,
               "with --logprobs: after penalties, filters and temperature");
  app.add_option("--system", args->system, "system message");
  app.add_flag("--raw", args->raw, "continue the text itself, without the chat template");
  app.add_flag("--special", args->special, "with --raw: special-token text becomes special tokens");
  app.add_flag("--json", args->json, "print text, token ids, usage and finish as JSON");
  return [args] { return run(*args); };
}

}  // namespace cli
