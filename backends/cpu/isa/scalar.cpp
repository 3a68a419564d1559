// The scalar table: any processor. Class a8 and attention give the bits of every other table (fma through libm, exactly rounded);
// float32 linears multiply, then add, because without hardware an exact fma costs fifty times as much.
#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::scalar {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/scalar.h"
#include "backends/cpu/kernels/shared.inl.h"
#include "backends/cpu/kernels/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/kernels/linear_codes.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
// clang-format on

constexpr KernelTable make_scalar_table() {
  KernelTable t = make_table("scalar", "f32-mul-add",
                             {.a8_macs_per_ns = 0.5f,
                              .f32_macs_per_ns = 0.3f,
                              .attend_macs_per_ns = 0.3f,
                              .rows_macs_per_ns = 1,
                              .rows_expand_ns = 1});
  set_linear(t, DType::q4_0, &linear_codes<DType::q4_0, false>);
  set_linear(t, DType::q4_1, &linear_codes<DType::q4_1, false>);
  set_linear(t, DType::q5_0, &linear_codes<DType::q5_0, false>);
  set_linear(t, DType::q5_1, &linear_codes<DType::q5_1, false>);
  set_linear(t, DType::q8_0, &linear_codes<DType::q8_0, false>);
  set_linear(t, DType::q4_k, &linear_codes<DType::q4_k, true>);
  set_linear(t, DType::q5_k, &linear_codes<DType::q5_k, true>);
  set_linear(t, DType::q6_k, &linear_codes<DType::q6_k, true>);
  return t;
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_scalar_table();

}  // namespace llmrt::cpu::scalar
