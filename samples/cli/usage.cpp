#include "usage.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace cli {
namespace {

class CommandLine {
 public:
  CommandLine(int argc, const char* const* argv)
      : words_(argv + 1, argv + argc), mark_(std::find(words_.begin(), words_.end(), "--")) {}
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Behind "--" nothing is an option, whatever it looks like.
  bool is_literal(const std::string& word) const {
    return std::find(mark_, words_.end(), word) != words_.end();
  }
  // A word like -hi, which CLI11 takes for -h and -i; "" if there is none.
  std::string glued_help() const {
    const auto glued = std::find_if(words_.begin(), mark_, [](const std::string& word) {
      return word.size() > 2 && word.starts_with("-h");
    });
    return glued == mark_ ? std::string() : *glued;
  }

 private:
  const std::vector<std::string> words_;
  const std::vector<std::string>::const_iterator mark_;
};

// A word that looks like an option and is none: the mistake to name first, whatever else it led to.
std::string unknown_option(const CLI::App& app, const CommandLine& typed) {
  for (const std::string& word : app.remaining(false))
    if (word.size() > 1 && word[0] == '-' && !typed.is_literal(word)) return word;
  return {};
}

std::string command_of(const CLI::App& app) {
  return app.get_parent() ? "llmrt " + app.get_name() : "llmrt";
}

bool takes_prompt(const CLI::App& app) { return app.get_option_no_throw("PROMPT") != nullptr; }

std::string no_option(const std::string& word, const CLI::App& app) {
  std::string sentence = word + " is no option of " + command_of(app);
  if (takes_prompt(app) && app.count("PROMPT") == 0 && app.count("--prompt") == 0)
    sentence += "; a prompt that begins with - goes behind -p";
  return sentence;
}

std::string left_over(const std::string& word, const CLI::App& app, const CommandLine& typed) {
  std::string sentence = "unexpected argument \"" + word + '"';
  if (word.starts_with('-') && typed.is_literal(word))
    sentence += ": behind -- nothing is an option";
  else if (takes_prompt(app))
    sentence += "; a prompt of several words goes in quotes";
  return sentence;
}

// An option with too few or too many values.
std::string wrong_count(const std::string& cli11_says, const CLI::App& app) {
  const std::string name = cli11_says.substr(0, cli11_says.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (!option) return cli11_says;
  if (option->count() < 2) return name + ": its value is missing";
  return name + " is given " + std::to_string(option->count()) + " times; once is allowed";
}

int usage_error(const std::string& sentence, const CLI::App& app) {
  std::fprintf(stderr, "llmrt: %s (see %s --help)\n", sentence.c_str(), command_of(app).c_str());
  return 2;
}

}  // namespace

int answer_unparsed(const CLI::ParseError& error, const CLI::App& app, int argc,
                    const char* const* argv) {
  const CommandLine typed(argc, argv);
  const CLI::App* at = &app;
  for (const CLI::App* sub : app.get_subcommands()) at = sub;
  if (error.get_exit_code() == 0) {  // --help, --version
    const std::string word = typed.glued_help();
    return word.empty() ? app.exit(error) : usage_error(no_option(word, *at), *at);
  }
  for (const CLI::App* level : {&app, at})
    if (const std::string word = unknown_option(*level, typed); !word.empty())
      return usage_error(no_option(word, *level), *level);
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (kind == CLI::ExitCodes::ExtrasError) {
    for (const CLI::App* level : {&app, at})
      for (const std::string& word : level->remaining(false))
        if (word != "--") return usage_error(left_over(word, *at, typed), *at);
  }
  if (kind == CLI::ExitCodes::ArgumentMismatch)
    return usage_error(wrong_count(error.what(), *at), *at);
  return usage_error(error.what(), *at);
}

}  // namespace cli
