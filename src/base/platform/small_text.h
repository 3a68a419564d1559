// Small texts of /proc and /sys, and the numbers in them. -1: not known, no such file, no limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace llmrt::platform {

// Takes no memory: it is read where an allocation may have failed.
class SmallText {
 public:
  SmallText() = default;
  explicit SmallText(const char* path) { append(path); }
  void append(const char* path);  // what the file holds, as far as there is room
  std::string_view text() const { return {text_, size_}; }

 private:
  char text_[8192];
  size_t size_ = 0;
};

// The number that text begins with, behind blanks. It is taken off.
int64_t take_number(std::string_view& text);
int64_t number_in(std::string_view text);
// The number behind a word.
int64_t number_after(std::string_view text, std::string_view word);

// The smaller of those that are known.
int64_t least(int64_t a, int64_t b);

}  // namespace llmrt::platform
