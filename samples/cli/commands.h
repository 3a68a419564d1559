// The subcommands: each adds its options to an App and hands back what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace cli {

using Command = std::function<int()>;  // the exit status

Command add_run(CLI::App& app);
Command add_chat(CLI::App& app);
Command add_bench(CLI::App& app);
Command add_perplexity(CLI::App& app);
Command add_logits(CLI::App& app);
Command add_tokenize(CLI::App& app);
Command add_render(CLI::App& app);
Command add_inspect(CLI::App& app);
Command add_doctor(CLI::App& app);

}  // namespace cli
