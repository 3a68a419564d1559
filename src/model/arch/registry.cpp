// The architectures: one file and one line each. X(function, name): build_<function> in <function>.cpp, general.architecture.
#include "model/architecture.h"

#define LLMRT_ARCHITECTURES(X) \
  X(gemma3, "gemma3")          \
  X(llama, "llama")            \
  X(qwen2, "qwen2")            \
  X(qwen3, "qwen3")            \
  X(qwen3_moe, "qwen3moe")

namespace llmrt {

#define LLMRT_DECLARE(function, name) Status build_##function(ModelBuilder& m);
LLMRT_ARCHITECTURES(LLMRT_DECLARE)

std::span<const Architecture> all_architectures() {
#define LLMRT_ENTRY(function, name) {name, build_##function},
  static constexpr Architecture kAll[] = {LLMRT_ARCHITECTURES(LLMRT_ENTRY)};
  return kAll;
}

}  // namespace llmrt
