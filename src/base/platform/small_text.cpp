#include "base/platform/small_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace llmrt::platform {

void SmallText::append(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  for (ssize_t n = 1; n > 0; size_ += static_cast<size_t>(std::max<ssize_t>(n, 0)))
    n = read(fd, text_ + size_, sizeof text_ - size_);
  close(fd);
}

int64_t take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  int64_t value = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc()) return -1;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

int64_t number_in(std::string_view text) { return take_number(text); }

int64_t number_after(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  return at == text.npos ? -1 : number_in(text.substr(at + word.size()));
}

int64_t least(int64_t a, int64_t b) { return a < 0 ? b : b < 0 ? a : std::min(a, b); }

}  // namespace llmrt::platform
