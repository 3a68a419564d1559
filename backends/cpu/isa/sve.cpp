// The SVE table: AArch64 with the Scalable Vector Extension at any vector length (A64FX, Neoverse V1 and later). Its int8 kernels take as
// much of a line as one vector holds; floats are NEON's, 16 at a time. Compiled with exactly those flags.
#include <arm_neon.h>
#include <arm_sve.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::sve {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/neon.h"
#include "backends/cpu/kernels/shared.inl.h"
#include "backends/cpu/kernels/row_dots.inl.h"
#include "backends/cpu/kernels/linear_rows.inl.h"
#include "backends/cpu/isa/neon/scales.inl.h"
#include "backends/cpu/isa/sve/codes.inl.h"
#include "backends/cpu/isa/sve/linear_32.inl.h"
#include "backends/cpu/isa/sve/linear_k.inl.h"
#include "backends/cpu/isa/sve/linear.inl.h"
#include "backends/cpu/kernels/linear_a8.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
#include "backends/cpu/isa/neon/table.inl.h"
// clang-format on

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_aarch64_table("sve", 30.0f, 4.0f);

}  // namespace llmrt::cpu::sve
