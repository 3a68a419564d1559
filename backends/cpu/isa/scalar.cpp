// The scalar table: any processor. Class a8 and attention give the bits of every other table (fma through libm, exactly rounded);
// float32 linears multiply, then add, because without hardware an exact fma costs fifty times as much.
#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::scalar {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/scalar.h"
#include "backends/cpu/kernels/row_ops.inl.h"
#include "backends/cpu/kernels/quantize.inl.h"
#include "backends/cpu/kernels/attention.inl.h"
#include "backends/cpu/kernels/linear_f32.inl.h"
#include "backends/cpu/kernels/linear_codes.inl.h"
#include "backends/cpu/kernels/input_rows.inl.h"
#include "backends/cpu/kernels/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
// clang-format on

constexpr TableSpeed kSpeed{
    .a8_macs_per_ns = 0.5f, .f32_macs_per_ns = 0.3f, .rows_macs_per_ns = 1, .rows_expand_ns = 1};

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_table("scalar", "f32-mul-add", kSpeed);

}  // namespace llmrt::cpu::scalar
