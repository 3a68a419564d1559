// What is said about a command line that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>

namespace cli {

// Help and version go to standard output. The exit status.
int answer_unparsed(const CLI::ParseError& error, const CLI::App& app, int argc,
                    const char* const* argv);

}  // namespace cli
