// The AVX-512 VNNI table (Ice Lake, Zen 4 and later): F, BW, DQ, VL, VNNI. Compiled with exactly those flags.
#include <immintrin.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::avx512_vnni {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/avx512.h"
#include "backends/cpu/kernels/row_ops.inl.h"
#include "backends/cpu/kernels/quantize.inl.h"
#include "backends/cpu/kernels/attention.inl.h"
#include "backends/cpu/kernels/linear_f32.inl.h"
#include "backends/cpu/kernels/linear_codes.inl.h"
#include "backends/cpu/kernels/input_rows.inl.h"
#include "backends/cpu/isa/avx2/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/isa/avx2/row_expand.inl.h"
#include "backends/cpu/isa/avx2/row_expand_grids.inl.h"
#include "backends/cpu/isa/avx512/linear.inl.h"
#include "backends/cpu/kernels/linear_a8.inl.h"
#include "backends/cpu/isa/avx2/row_transpose.inl.h"
#include "backends/cpu/isa/avx512/row_lines.inl.h"
#include "backends/cpu/kernels/linear_lines.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
#include "backends/cpu/isa/avx512/table.inl.h"
// clang-format on

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_avx512_table("avx512_vnni");

}  // namespace llmrt::cpu::avx512_vnni
