#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "support.h"

namespace cli {

ProgressBar::ProgressBar(std::string what, Of of)
    : what_(std::move(what)), of_(of), on_(isatty(STDERR_FILENO) != 0), begin_(seconds_now()) {}

void ProgressBar::show(int64_t done, int64_t total) {
  if (!on_ || total <= 0 || seconds_now() - begin_ < 0.2) return;
  constexpr int kWidth = 30;
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const int full = static_cast<int>(share * kWidth);
  const std::string bar = std::string(static_cast<size_t>(full), '#') +
                          std::string(static_cast<size_t>(kWidth - full), '.');
  const auto amount = [&](int64_t n) {
    return of_ == Of::bytes ? human_bytes(static_cast<double>(n)) : std::to_string(n);
  };
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3.0f %%", share * 100);
  std::string line =
      what_ + " [" + bar + "] " + percent + "  " + amount(done) + " of " + amount(total) + " ";
  if (line == shown_) return;
  std::fprintf(stderr, "\r%s", line.c_str());
  std::fflush(stderr);
  shown_ = std::move(line);
}

void ProgressBar::clear() {
  if (shown_.empty()) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_.clear();
}

}  // namespace cli
