// The kernels that every instruction set has as they are, written on its simd/<isa>.h.

// How they, and a set's own, come into its table.
constexpr void set_linear(KernelTable& t, DType type, LinearFn fn) {
  t.linear[static_cast<uint32_t>(type)] = fn;
}

// clang-format off
#include "backends/cpu/kernels/row_ops.inl.h"
#include "backends/cpu/kernels/quantize.inl.h"
#include "backends/cpu/kernels/attention.inl.h"
#include "backends/cpu/kernels/linear_f32.inl.h"
#include "backends/cpu/kernels/input_rows.inl.h"
// clang-format on
