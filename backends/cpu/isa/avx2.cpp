// The AVX2 table: AVX2, FMA, F16C (2013 on). Compiled with exactly those flags; see isa/begin_isa.inl.h.
#include <immintrin.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::avx2 {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/avx2.h"
#include "backends/cpu/simd/dot_maddubs.h"
#include "backends/cpu/isa/avx2/kernels.inl.h"
#include "backends/cpu/isa/avx2/linear_32_nibbles.inl.h"
#include "backends/cpu/isa/avx2/row_lines_32_nibbles.inl.h"
#include "backends/cpu/isa/avx2/table.inl.h"
// clang-format on

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_avx2_table("avx2");

}  // namespace llmrt::cpu::avx2
