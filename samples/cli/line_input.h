// Lines from a person: edited and remembered (libedit) on a terminal, read plainly otherwise.
#pragma once

#include <string>

namespace cli {

enum class Line { text, end, interrupted };

class LineInput {
 public:
  LineInput();
  // A trailing backslash goes on with the next line.
  Line read(const char* prompt, std::string& line);

 private:
  Line read_one(const char* prompt, std::string& line);
  bool terminal_;
};

}  // namespace cli
