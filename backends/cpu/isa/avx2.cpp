// The AVX2 table: AVX2, FMA, F16C (2013 on). Compiled with exactly those flags; see isa/begin_isa.inl.h.
#include <immintrin.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::avx2 {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/avx2.h"
#include "backends/cpu/simd/dot_maddubs.h"
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
#include "backends/cpu/isa/avx2/codes.inl.h"
#include "backends/cpu/isa/avx2/linear_32.inl.h"
#include "backends/cpu/isa/avx2/linear_8.inl.h"
#include "backends/cpu/isa/avx2/linear_k.inl.h"
#include "backends/cpu/isa/avx2/linear.inl.h"
#include "backends/cpu/kernels/linear_a8.inl.h"
#include "backends/cpu/isa/avx2/row_transpose.inl.h"
#include "backends/cpu/isa/avx2/row_lines.inl.h"
#include "backends/cpu/isa/avx2/row_lines_8.inl.h"
#include "backends/cpu/kernels/linear_lines.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
// clang-format on

// Of row types: between the fastest and the slowest of them.
constexpr TableSpeed kSpeed{
    .a8_macs_per_ns = 80, .f32_macs_per_ns = 20, .rows_macs_per_ns = 55, .rows_expand_ns = 0.1f};

constexpr KernelTable make_avx2_table() {
  KernelTable t = make_table("avx2", "f32", kSpeed);
  const auto set = [&t](DType type, LinearFn fn) { t.linear[static_cast<uint32_t>(type)] = fn; };
  set(DType::q4_0, &linear_a8<B32<4, false, 8>>);
  set(DType::q4_1, &linear_a8<B32<4, true, 0>>);
  set(DType::q5_0, &linear_a8<B32<5, false, 16>>);
  set(DType::q5_1, &linear_a8<B32<5, true, 0>>);
  set(DType::q8_0, &linear_a8<B8>);
  set(DType::q4_k, &linear_a8<K4<false>>);
  set(DType::q5_k, &linear_a8<K4<true>>);
  set(DType::q6_k, &linear_a8<K6>);
  set_row_lines(t);
  set(DType::iq4_nl, &linear_lines<DType::iq4_nl, Lines8>);
  return t;
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_avx2_table();

}  // namespace llmrt::cpu::avx2
