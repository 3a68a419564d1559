#include "line_input.h"

#include <editline/readline.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "support.h"

namespace cli {

LineInput::LineInput() : terminal_(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) {
  if (terminal_) using_history();
}

Line LineInput::read_one(const char* prompt, std::string& line) {
  if (terminal_) {
    const std::unique_ptr<char, void (*)(void*)> text(readline(prompt), std::free);
    if (!text) return interrupted() ? Line::interrupted : Line::end;
    line = text.get();
    if (!line.empty()) add_history(line.c_str());
    return Line::text;
  }
  line.clear();
  for (int c = 0; (c = std::fgetc(stdin)) != EOF;) {
    if (c == '\n') return Line::text;
    line.push_back(static_cast<char>(c));
  }
  if (interrupted()) return Line::interrupted;
  return line.empty() ? Line::end : Line::text;
}

Line LineInput::read(const char* prompt, std::string& line) {
  line.clear();
  std::string part;
  while (true) {
    const Line got = read_one(line.empty() ? prompt : ". ", part);
    if (got != Line::text) return got;
    line += part;
    if (line.empty() || line.back() != '\\') return Line::text;
    line.back() = '\n';
  }
}

}  // namespace cli
