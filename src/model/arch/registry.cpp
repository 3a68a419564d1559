// The architectures: one file and one line each.
#include "model/architecture.h"

namespace llmrt {

Status build_gemma3(ModelBuilder& m);
Status build_llama(ModelBuilder& m);
Status build_qwen2(ModelBuilder& m);
Status build_qwen3(ModelBuilder& m);

std::span<const Architecture> all_architectures() {
  static constexpr Architecture kAll[] = {
      {"gemma3", build_gemma3},
      {"llama", build_llama},
      {"qwen2", build_qwen2},
      {"qwen3", build_qwen3},
  };
  return kAll;
}

}  // namespace llmrt
