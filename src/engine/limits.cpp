#include "engine/limits.h"

#include <string>

namespace llmrt {

Status refuse(std::string_view name, std::string_view found, std::string_view allowed) {
  const auto length = [](std::string_view text) { return static_cast<int>(text.size()); };
  return error(Code::invalid_argument, "%.*s is %.*s; allowed: %.*s", length(name), name.data(),
               length(found), found.data(), length(allowed), allowed.data())
      .at(name);
}

Status check(const Limit& limit, int64_t value) {
  if (value >= limit.least && value <= limit.most) return {};
  const std::string least = std::to_string(limit.least);
  return refuse(limit.name, std::to_string(value),
                limit.most == kNoMost           ? least + " and up"
                : limit.most == limit.least     ? least
                : limit.most == limit.least + 1 ? least + " and " + std::to_string(limit.most)
                                                : least + " to " + std::to_string(limit.most));
}

Status check_block_tokens(int64_t value) {
  if (value == 16 || value == 32 || value == 64) return {};
  return refuse("block_tokens", std::to_string(value), "16, 32 and 64");
}

}  // namespace llmrt
