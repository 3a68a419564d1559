#include "base/limit.h"

#include <charconv>
#include <cmath>

namespace llmrt {

Status check(const Limit& limit, int64_t value) {
  if (value >= limit.least && value <= limit.most) return {};
  const std::string least = std::to_string(limit.least), most = std::to_string(limit.most);
  return refuse(limit.name, std::to_string(value),
                limit.most == kNoMost           ? least + " and up"
                : limit.most == limit.least     ? least
                : limit.most == limit.least + 1 ? least + " and " + most
                                                : least + " to " + most);
}

Status check(const RealLimit& limit, double value) {
  if (value >= limit.least && value <= limit.most) return {};
  const std::string least = number_text(limit.least), most = number_text(limit.most);
  return refuse(limit.name, number_text(value),
                limit.most == kNoBound     ? least + " and up"
                : limit.least == -kNoBound ? most + " and down"
                                           : least + " to " + most);
}

Status refuse(std::string_view name, std::string_view found, std::string_view allowed) {
  const auto length = [](std::string_view text) { return static_cast<int>(text.size()); };
  return error(Code::invalid_argument, "%.*s is %.*s; allowed: %.*s", length(name), name.data(),
               length(found), found.data(), length(allowed), allowed.data())
      .at(name);
}

std::string number_text(double value) {
  char text[64];
  const auto single = static_cast<float>(value);
  const auto written = static_cast<double>(single) == value || std::isnan(value)
                           ? std::to_chars(text, text + sizeof text, single)
                           : std::to_chars(text, text + sizeof text, value);
  return std::string(text, written.ptr);
}

}  // namespace llmrt
