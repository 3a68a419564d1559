// The AVX-512 VNNI table (Ice Lake, Zen 4 and later): F, BW, DQ, VL, VNNI. Compiled with exactly those flags.
#include <immintrin.h>

#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::avx512_vnni {
namespace {

#include "backends/cpu/isa/avx512/kernels.inl.h"

}  // namespace

extern const KernelTable kTable;
constinit const KernelTable kTable = make_avx512_table("avx512_vnni");

}  // namespace llmrt::cpu::avx512_vnni
