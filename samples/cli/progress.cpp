#include "progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "support.h"

namespace cli {

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), on_(isatty(STDERR_FILENO) != 0), begin_(seconds_now()) {}

void ProgressBar::show(int64_t done, int64_t total) {
  if (!on_ || total <= 0 || seconds_now() - begin_ < 0.2) return;
  constexpr int kWidth = 30;
  const double share = std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0);
  const int full = static_cast<int>(share * kWidth);
  const std::string bar = std::string(static_cast<size_t>(full), '#') +
                          std::string(static_cast<size_t>(kWidth - full), '.');
  std::fprintf(stderr, "\r%s [%s] %3.0f %%  %s of %s ", what_.c_str(), bar.c_str(), share * 100,
               human_bytes(static_cast<double>(done)).c_str(),
               human_bytes(static_cast<double>(total)).c_str());
  std::fflush(stderr);
  shown_ = true;
}

void ProgressBar::clear() {
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace cli
