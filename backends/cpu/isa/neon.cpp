// The NEON table: AArch64 with the dot-product extension (Armv8.2; all current phones, servers and Apple's).
#include <arm_neon.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::neon {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/neon.h"
#include "backends/cpu/kernels/row_ops.inl.h"
#include "backends/cpu/kernels/quantize.inl.h"
#include "backends/cpu/kernels/attention.inl.h"
#include "backends/cpu/kernels/linear_f32.inl.h"
#include "backends/cpu/kernels/linear_codes.inl.h"
#include "backends/cpu/kernels/input_rows.inl.h"
#include "backends/cpu/isa/neon/linear.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
// clang-format on

constexpr KernelTable make_neon_table() {
  KernelTable t = make_table("neon", "f32", 20.0f, 10.0f);
  t.linear[static_cast<uint32_t>(DType::q8_0)] = &linear_a8<B8>;
  t.linear[static_cast<uint32_t>(DType::q4_k)] = &linear_a8<K4>;
  return t;
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_neon_table();

}  // namespace llmrt::cpu::neon
