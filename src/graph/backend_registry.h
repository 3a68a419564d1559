// From a device's name to a Backend. Compiled-in backends are listed by backends/builtin.cpp; "reference" is always there.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/backend.h"

namespace llmrt {

// "auto": the first device of the first factory that has one. "cpu" or "cpu:1": that factory's device 0 or 1.
// Any other word: not_found, listing the devices there are.
Result<std::unique_ptr<Backend>> make_backend(std::span<const BackendFactory> factories,
                                              std::shared_ptr<Host> host, std::string_view device,
                                              std::string_view options);

// Whether the build has a backend, "reference" included; it may find no device.
bool has_backend(std::span<const BackendFactory> factories, std::string_view id);

// Ids of all devices in order of preference, "reference" last.
std::vector<std::string> device_ids(std::span<const BackendFactory> factories);

inline Result<std::unique_ptr<Backend>> make_backend(std::shared_ptr<Host> host,
                                                     std::string_view device,
                                                     std::string_view options) {
  return make_backend(builtin_backends(), std::move(host), device, options);
}

}  // namespace llmrt
