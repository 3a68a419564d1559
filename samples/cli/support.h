// What the subcommands share: owned handles, failures, files, interruption. The tool uses include/llmrt.h and nothing else of the
// library. Text goes to standard output, everything else to standard error. Exit status: 0, 1 failed, 2 usage, 130 interrupted.
#pragma once

#include <llmrt.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../owned_handles.h"

namespace cli {

using Json = nlohmann::ordered_json;

using llmrt_samples::Owned;

// What ends a subcommand early; main() prints the sentence and exits with the status.
struct Failure {
  std::string sentence;
  int exit_status = 1;
  // of a failure of the library: llmrt_error_info
  llmrt_status status = LLMRT_OK;
  std::string where;
};
[[noreturn]] void fail(std::string sentence);
[[noreturn]] void fail_usage(std::string sentence);
// "-r is 0; allowed: 1 to 1000"
void check_range(const char* flag, int64_t value, int64_t least, int64_t most);
// Throws the library's last error if status is one.
void check(llmrt_status status);
[[noreturn]] void throw_last_error();

// SIGINT sets a flag, nothing more: loops look at it.
void catch_interrupts();
bool interrupted();
void clear_interrupt();
[[noreturn]] void throw_interrupted();

// Byte for byte; "-": standard input.
std::string read_file(const std::string& path);
bool file_exists(const std::string& path);
bool has_an_end(const std::string& path);  // a file or a pipe
// Fails with the offset of the first byte that is wrong. name: the file or option that the text came from.
void check_utf8(const std::string& name, std::string_view text);
// "messages is no array" -> "chat.json is no array". False: the sentence begins with something else.
bool rename_subject(std::string& sentence, std::string_view subject, std::string_view name);
// Owns and frees what the library gave.
std::string take_text(char* text);
void write_out(std::string_view text);  // standard output, at once; fails on a full disk
void print_json(const Json& json);
void print_json_line(const Json& json);  // large arrays on one line
std::string human_bytes(double bytes);
double seconds_now();

// {median, min, max}
Json stats(std::vector<double> values);

}  // namespace cli
