// Compiled with -mavx2 -mfma: nothing here runs before reference_kernels() has asked the processor.
#include "base/math.h"
#include "graph/reference_kernels.h"
#include "quant/dtype.h"

namespace llmrt::reference_avx2 {
#include "graph/reference_kernels.inl.h"
}  // namespace llmrt::reference_avx2
