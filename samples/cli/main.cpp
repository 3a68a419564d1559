// llmrt: the command line over include/llmrt.h.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <new>
#include <string_view>
#include <vector>

#include "commands.h"
#include "options.h"
#include "usage.h"

namespace {

struct Entry {
  const char* name;
  const char* help;
  cli::Command (*add)(CLI::App&);
};
constexpr Entry kEntries[] = {
    {"run", "answer one prompt", cli::add_run},
    {"chat", "talk with a model", cli::add_chat},
    {"bench", "measure speed", cli::add_bench},
    {"perplexity", "measure how well a model predicts a text", cli::add_perplexity},
    {"logits", "write the logits of a token sequence", cli::add_logits},
    {"tokenize", "text to token ids", cli::add_tokenize},
    {"render", "chat messages to prompt text", cli::add_render},
    {"inspect", "show what a file holds and what it would take to run it; reads metadata only",
     cli::add_inspect},
    {"doctor", "show what this machine offers", cli::add_doctor},
};

// A word of later versions is a refusal, not a slip of the pen.
constexpr std::string_view kLater[] = {"quantize", "convert", "serve"};

bool is_command(std::string_view word) {
  return std::any_of(std::begin(kEntries), std::end(kEntries),
                     [&](const Entry& entry) { return word == entry.name; });
}

std::string all_commands() {
  std::string all;
  for (const Entry& entry : kEntries) all += (all.empty() ? "" : ", ") + std::string(entry.name);
  return all;
}

int run_command(const cli::Command& command, const CLI::App& app) {
  try {
    return command();
  } catch (cli::Failure& failure) {
    cli::name_option(failure, app);
    std::fprintf(stderr, "llmrt: %s\n", failure.sentence.c_str());
    return failure.exit_status;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "llmrt: out of memory\n");
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "llmrt: %s\n", e.what());
    return 1;
  }
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): what throws here is a wrong option table, or want of memory
int main(int argc, char** argv) {
  if (argc > 1 && std::find(std::begin(kLater), std::end(kLater), argv[1]) != std::end(kLater)) {
    std::fprintf(stderr, "llmrt: version %s has no %s\n", llmrt_version_string(), argv[1]);
    return 1;
  }
  if (argc < 2 || (argv[1][0] != '-' && !is_command(argv[1]))) {
    const std::string what =
        argc < 2 ? std::string("a command is missing") : std::string(argv[1]) + " is no command";
    std::fprintf(stderr, "llmrt: %s; there are %s (see llmrt --help)\n", what.c_str(),
                 all_commands().c_str());
    return 2;
  }
  CLI::App app("llmrt " + std::string(llmrt_version_string()) + ": run language models", "llmrt");
  app.require_subcommand(1);
  app.set_version_flag("--version", llmrt_version_string());
  std::vector<std::pair<CLI::App*, cli::Command>> commands;
  for (const Entry& entry : kEntries) {
    CLI::App* sub = app.add_subcommand(entry.name, entry.help);
    commands.emplace_back(sub, entry.add(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return cli::answer_unparsed(e, app, argc, argv);
  }
  if (const llmrt_status status = llmrt_check_version(LLMRT_VERSION); status < 0) {
    std::fprintf(stderr, "llmrt: %s\n", llmrt_last_error());
    return 1;
  }
  cli::catch_interrupts();
  for (const auto& [sub, command] : commands)
    if (sub->parsed()) return run_command(command, *sub);
  return 2;
}
