// The AMX table (Sapphire Rapids and later): the AVX-512 VNNI kernels, and by tiles linears of class a8 of 16 rows and more, BF16 weights
// and attention over bf16. For processes that the system has permitted to use tiles only (kernel_table.cpp). Also tested with its
// instructions emulated (tests/cpu/avx512_emulated_table.cpp).
#include <immintrin.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::amx_int8 {
namespace {

// clang-format off
#include "backends/cpu/simd/amx.h"
#include "backends/cpu/isa/amx/kernels.inl.h"
// clang-format on

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_amx_table("amx_int8");

}  // namespace llmrt::cpu::amx_int8
