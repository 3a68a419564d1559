#include "graph/backend_registry.h"

#include <algorithm>
#include <charconv>

#include "base/in_quotes.h"
#include "graph/reference.h"

namespace llmrt {
namespace {

constexpr std::string_view kReference = "reference";

}  // namespace

bool has_backend(std::span<const BackendFactory> factories, std::string_view id) {
  return id == kReference || std::any_of(factories.begin(), factories.end(),
                                         [&](const BackendFactory& f) { return id == f.id; });
}

std::vector<std::string> device_ids(std::span<const BackendFactory> factories) {
  std::vector<std::string> ids;
  for (const BackendFactory& factory : factories) {
    const int32_t n = factory.device_count();
    if (n == 1) ids.emplace_back(factory.id);
    for (int32_t i = 0; n > 1 && i < n; ++i)
      ids.push_back(std::string(factory.id) + ":" + std::to_string(i));
  }
  ids.emplace_back(kReference);
  return ids;
}

Result<std::unique_ptr<Backend>> make_backend(std::span<const BackendFactory> factories,
                                              std::shared_ptr<Host> host, std::string_view device,
                                              std::string_view options) {
  if (device == kReference)
    return std::unique_ptr<Backend>(make_reference_backend(std::move(host)));
  if (device == "auto" || device.empty()) {
    for (const BackendFactory& factory : factories) {
      if (factory.device_count() > 0) return factory.create(std::move(host), 0, options);
    }
    return error(Code::device, "no device: this build has the backend \"reference\" only")
        .at("devices");
  }
  const size_t colon = device.find(':');
  const std::string_view id = device.substr(0, colon);
  int32_t index = 0;
  bool number_ok = true;
  if (colon != std::string_view::npos) {
    const std::string_view digits = device.substr(colon + 1);
    const auto end = digits.data() + digits.size();
    const auto parsed = std::from_chars(digits.data(), end, index);
    number_ok = parsed.ec == std::errc() && parsed.ptr == end && index >= 0;
  }
  for (const BackendFactory& factory : factories) {
    if (id == factory.id && number_ok && index < factory.device_count())
      return factory.create(std::move(host), index, options);
  }
  std::string known = "auto";
  for (const std::string& name : device_ids(factories)) known += ", " + name;
  return error(Code::not_found, "device %s is not one of %s", in_quotes(device, 40).c_str(),
               known.c_str())
      .at("devices");
}

}  // namespace llmrt
