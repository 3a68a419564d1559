#include "graph/backend_registry.h"

#include "graph/reference.h"
#include "support/simple_runner.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

// Two devices that are the interpreter in disguise, and a backend without a device.
const BackendFactory kFactories[] = {
    {"absent", [] { return int32_t{0}; },
     [](std::shared_ptr<Host>, int32_t, std::string_view) -> Result<std::unique_ptr<Backend>> {
       return error(Code::device, "absent");
     }},
    {"twin", [] { return int32_t{2}; },
     [](std::shared_ptr<Host> host, int32_t device,
        std::string_view options) -> Result<std::unique_ptr<Backend>> {
       if (options == "fail") return error(Code::device, "twin %d failed", device);
       return std::unique_ptr<Backend>(make_reference_backend(std::move(host)));
     }},
};

std::string message(std::string_view device, std::string_view options = "") {
  auto made = make_backend(kFactories, make_host(1), device, options);
  return made.ok() ? "ok " + made.value()->info().id : std::string(made.status().message());
}

}  // namespace

TEST_CASE("devices are found by name, and a wrong name lists the right ones") {
  CHECK(device_ids(kFactories) == std::vector<std::string>{"twin:0", "twin:1", "reference"});
  for (const char* there : {"absent", "twin", "reference"}) CHECK(has_backend(kFactories, there));
  for (const char* none : {"", "twin:0", "cuda"}) CHECK_FALSE(has_backend(kFactories, none));
  CHECK(message("reference") == "ok reference");
  CHECK(message("auto") == "ok reference");
  CHECK(message("twin") == "ok reference");
  CHECK(message("twin:1", "fail") == "twin 1 failed");
  CHECK(message("auto", "fail") == "twin 0 failed");
  for (const char* wrong : {"twin:2", "twin:-1", "twin:1x", "twin:", "absent", "cuda"})
    CHECK(message(wrong) ==
          "device \"" + std::string(wrong) + "\" is not one of auto, twin:0, twin:1, reference");
  auto none = make_backend({}, make_host(1), "auto", "");
  CHECK(none.status().code() == Code::device);
}
