#include "graph/reference_kernels.h"

#include "base/math.h"
#include "quant/dtype.h"

namespace llmrt {
namespace reference_baseline {
#include "graph/reference_kernels.inl.h"
}  // namespace reference_baseline

const ReferenceKernels& reference_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return reference_avx2::kKernels;
#endif
  return reference_baseline::kKernels;
}

}  // namespace llmrt
