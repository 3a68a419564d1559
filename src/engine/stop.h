// StopFilter: stop strings in a stream of text pieces. Text that may be the beginning of a stop string is held back, so a stop string
// leaves no trace in the output, wherever token borders fall. Pieces and stop strings are valid UTF-8, so cuts are at code points.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace llmrt {

class StopFilter {
 public:
  explicit StopFilter(std::vector<std::string> stops);
  // Appends to out what can no longer belong to a stop string. true: one is complete; out ends where it began, later text is dropped.
  bool push(std::string_view text, std::string& out);
  void flush(std::string& out);  // the stream ended without a stop string

 private:
  std::vector<std::string> stops_;
  size_t longest_ = 0;
  std::string held_;  // shorter than longest_
  bool stopped_ = false;
};

}  // namespace llmrt
