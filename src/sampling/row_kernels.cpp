#include "sampling/row_kernels.h"

#include "sampling/mass_exp.h"
#if defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace llmrt {
namespace row_kernels_baseline {
namespace {

using Lanes = uint64_t __attribute__((vector_size(16)));

// g++ does not see that upper halves do not matter, and would multiply three times.
inline Lanes times(Lanes a, Lanes b) {
#if defined(__x86_64__)
  return reinterpret_cast<Lanes>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#elif defined(__aarch64__)
  return reinterpret_cast<Lanes>(vmull_u32(vmovn_u64(reinterpret_cast<uint64x2_t>(a)),
                                           vmovn_u64(reinterpret_cast<uint64x2_t>(b))));
#else
  constexpr uint64_t kLow = 0xffffffffu;
  return Lanes{(a[0] & kLow) * (b[0] & kLow), (a[1] & kLow) * (b[1] & kLow)};
#endif
}

}  // namespace
#include "sampling/row_kernels.inl.h"
}  // namespace row_kernels_baseline

const RowKernels& row_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return row_kernels_avx2::kKernels;
#endif
  return row_kernels_baseline::kKernels;
}

}  // namespace llmrt
