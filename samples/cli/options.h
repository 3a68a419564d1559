// Options that several subcommands take, and what they become in the library's structs.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "support.h"

namespace cli {

// Where a model comes from and how it is loaded. A subcommand registers what it makes use of, nothing else.
struct ModelArgs {
  std::string path;
  int threads = 0;
  std::string device = "auto";
  std::string chat_template;           // name or file
  std::vector<std::string> overrides;  // KEY=VALUE
  std::string load_mode = "auto";
  std::string cache_dir;  // folder of packed weights; empty: none
  CLI::Option* add_path(CLI::App& app);
  void add_threads(CLI::App& app);
  CLI::Option* add_device(CLI::App& app);
  CLI::Option* add_chat_template(CLI::App& app);
  CLI::Option* add_overrides(CLI::App& app);
  // All but the template and where packed weights are kept: what a plan takes, and computing too.
  void add_computing(CLI::App& app);
  void add_cache_dir(CLI::App& app);
};

struct Loaded {
  Owned<llmrt_runtime> runtime;
  Owned<llmrt_model> model;
  double load_ms = 0;
};
// Shows a progress bar when standard error is a terminal; Ctrl-C ends the program.
Loaded load(const ModelArgs& args, bool metadata_only = false);

// The KV cache and the context.
struct EngineArgs {
  int ctx = 0;
  std::string kv_type;
  EngineArgs();  // the library's own kv_type
  void add_to(CLI::App& app);
  void add_kv_type(CLI::App& app);
};
void fill(const EngineArgs& args, llmrt_engine_options& options);
// On standard error.
void warn_beyond_training(const Loaded& loaded, const EngineArgs& args);
llmrt_model_info info_of(const llmrt_model* model);
// What the file and an engine would take, with the options that the model was loaded with.
Owned<llmrt_plan> make_plan(const Loaded& loaded, const ModelArgs& model,
                            const llmrt_engine_options& options);
llmrt_plan_info info_of(const llmrt_plan* plan);
Owned<llmrt_engine> make_engine(const Loaded& loaded, const llmrt_engine_options& options);

// How an answer is made. The strings live here: options only point to them.
struct GenArgs {
  llmrt_gen_options options;
  std::vector<std::string> stop;
  std::string logit_bias;
  std::optional<std::string> sampler_chain;
  Owned<llmrt_strlist> stop_list;
  GenArgs();
  void add_to(CLI::App& app);
  const llmrt_gen_options& finished();  // points the options at the strings
};

// -p TEXT, -f FILE or a positional prompt; else standard input.
struct PromptArgs {
  std::optional<std::string> text, file, positional;
  void add_to(CLI::App& app, bool with_positional);
  bool typed() const { return text || positional; }
  // Well-formed UTF-8, or a failure that names where it came from.
  std::string read() const;
};

// Ids of a text; flags as llmrt_tokenize.
std::vector<int32_t> tokens_of_text(llmrt_model* model, const std::string& text, uint32_t flags);

// An option whose text arrives as it was typed: CLI11's vectors would take brackets for lists.
CLI::Option* add_text(CLI::App& app, const std::string& names, std::optional<std::string>& into,
                      const std::string& help);
CLI::Option* add_texts(CLI::App& app, const std::string& names, std::vector<std::string>& into,
                       const std::string& help);

// What is wrong with a number that was typed, "" if nothing is.
std::string wrong_number(const std::string& text);
std::string wrong_whole_number(const std::string& text, size_t bits);

// An option that takes a number, and says so where it gets none.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& names, Number& into,
                        const std::string& help) {
  return app.add_option(names, into, help)->check([](const std::string& text) {
    if constexpr (std::is_floating_point_v<Number>)
      return wrong_number(text);
    else
      return wrong_whole_number(text, 8 * sizeof(Number));
  });
}

// The library names fields of its structs; the user typed options of the subcommand. A bad value is a usage error.
void name_option(Failure& failure, const CLI::App& app);

}  // namespace cli
