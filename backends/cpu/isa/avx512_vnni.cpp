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
#include "backends/cpu/isa/avx512/linear.inl.h"
#include "backends/cpu/isa/make_table.inl.h"
// clang-format on

constexpr KernelTable make_avx512_table() {
  KernelTable t = make_table("avx512_vnni", "f32", 180.0f, 40.0f);
  const auto set = [&t](DType type, LinearFn fn) { t.linear[static_cast<uint32_t>(type)] = fn; };
  set(DType::q4_0, &linear_a8<B32<4, false, 8>>);
  set(DType::q4_1, &linear_a8<B32<4, true, 0>>);
  set(DType::q5_0, &linear_a8<B32<5, false, 16>>);
  set(DType::q5_1, &linear_a8<B32<5, true, 0>>);
  set(DType::q8_0, &linear_a8<B32<8, false, 128>>);
  set(DType::q4_k, &linear_a8<K4<false>>);
  set(DType::q5_k, &linear_a8<K4<true>>);
  set(DType::q6_k, &linear_a8<K6>);
  return t;
}

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_avx512_table();

}  // namespace llmrt::cpu::avx512_vnni
