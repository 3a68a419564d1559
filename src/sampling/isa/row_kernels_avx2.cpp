// Compiled with -mavx2: nothing here runs before row_kernels() has asked the processor.
#include <immintrin.h>

#include "sampling/mass_exp.h"
#include "sampling/row_kernels.h"

namespace llmrt::row_kernels_avx2 {
namespace {

using Lanes = uint64_t __attribute__((vector_size(32)));

inline Lanes times(Lanes a, Lanes b) {
  return reinterpret_cast<Lanes>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}

}  // namespace
#include "sampling/row_kernels.inl.h"
}  // namespace llmrt::row_kernels_avx2
