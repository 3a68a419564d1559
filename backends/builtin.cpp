// The compiled-in backends, best first. The only file that names them.
#include "backends/cpu/cpu_backend.h"
#include "graph/backend.h"

namespace llmrt {

std::span<const BackendFactory> builtin_backends() {
  static constexpr BackendFactory kFactories[] = {
      {"cpu", &cpu::cpu_device_count, &cpu::create_cpu_backend},
  };
  return kFactories;
}

}  // namespace llmrt
