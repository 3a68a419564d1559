// The AVX-VNNI table (Alder Lake, Zen 5 and later; AVX-512 may be absent): the AVX2 kernels with VEX-coded vpdpbusd for their int8 dot
// products. Compiled with exactly those flags. Tested with that instruction emulated (tests/cpu/avx_vnni_emulated_table.cpp); it has run
// on no such processor yet.
#include <immintrin.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::avx_vnni {
namespace {

// Order matters: each file uses the names of those before it.
// clang-format off
#include "backends/cpu/simd/avx2.h"
#include "backends/cpu/simd/dot_avx_vnni.h"
#include "backends/cpu/isa/avx2/kernels.inl.h"
#include "backends/cpu/isa/avx2/vnni_table.inl.h"
// clang-format on

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_avx_vnni_table("avx_vnni");

}  // namespace llmrt::cpu::avx_vnni
