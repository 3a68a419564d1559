// A progress bar on standard error, only if that is a terminal.
#pragma once

#include <cstdint>
#include <string>

namespace cli {

class ProgressBar {
 public:
  enum class Of { bytes, runs };
  explicit ProgressBar(std::string what, Of of = Of::bytes);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(int64_t done, int64_t total);  // writes only what changes
  void clear();

 private:
  std::string what_, shown_;
  Of of_;
  bool on_;
  double begin_;
};

}  // namespace cli
