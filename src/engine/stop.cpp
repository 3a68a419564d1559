#include "engine/stop.h"

#include <algorithm>

namespace llmrt {
namespace {
constexpr size_t kPieceBytes = 256;  // longer pieces make held_ grow once
}

StopFilter::StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) longest_ = std::max(longest_, stop.size());
  if (longest_ > 0) held_.reserve(longest_ + kPieceBytes);
}

bool StopFilter::push(std::string_view text, std::string& out) {
  if (stopped_) return true;
  if (stops_.empty()) {
    out.append(text);
    return false;
  }
  held_.append(text);
  size_t found = std::string::npos;
  for (const std::string& stop : stops_) found = std::min(found, held_.find(stop));
  if (found != std::string::npos) {
    out.append(held_, 0, found);
    held_.clear();
    stopped_ = true;
    return true;
  }
  // keep the longest end of held_ that begins a stop string
  size_t keep = std::min(held_.size(), longest_ - 1);
  const auto begins_a_stop = [&](size_t n) {
    const std::string_view end = std::string_view(held_).substr(held_.size() - n);
    return std::any_of(stops_.begin(), stops_.end(), [&](const std::string& stop) {
      return stop.size() > n && stop.compare(0, n, end) == 0;
    });
  };
  while (keep > 0 && !begins_a_stop(keep)) --keep;
  out.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

void StopFilter::flush(std::string& out) {
  out.append(held_);
  held_.clear();
}

}  // namespace llmrt
