// A progress bar on standard error, only if that is a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace cli {

class ProgressBar {
 public:
  explicit ProgressBar(std::string what);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(int64_t done, int64_t total);  // bytes
  void clear();

 private:
  std::string what_;
  bool on_;
  bool shown_ = false;
  double begin_;
};

}  // namespace cli
