// The AVX-VNNI table, its one instruction beyond AVX2 emulated: the same kernel files as isa/avx_vnni.cpp.
#include <immintrin.h>

#include <cstring>

#include "backends/cpu/isa/begin_isa.inl.h"

// Some compilers' own is a macro.
#undef _mm256_dpbusd_avx_epi32

namespace llmrt::cpu::avx_vnni_emulated {
namespace {

// Hides the compiler's.
inline __m256i _mm256_dpbusd_avx_epi32(__m256i acc, __m256i u, __m256i s) {
  int32_t sum[8];
  uint8_t x[32];
  int8_t y[32];
  std::memcpy(sum, &acc, 32);
  std::memcpy(x, &u, 32);
  std::memcpy(y, &s, 32);
  for (int i = 0; i < 32; ++i) sum[i / 4] += x[i] * y[i];
  std::memcpy(&acc, sum, 32);
  return acc;
}

// clang-format off
#include "backends/cpu/simd/avx2.h"
#include "backends/cpu/simd/dot_avx_vnni.h"
#include "backends/cpu/isa/avx2/kernels.inl.h"
#include "backends/cpu/isa/avx2/vnni_table.inl.h"
// clang-format on

}  // namespace

extern const KernelTable kTable;
const KernelTable kTable = make_avx_vnni_table("avx_vnni_emulated");

}  // namespace llmrt::cpu::avx_vnni_emulated
