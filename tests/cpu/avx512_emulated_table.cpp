// The AVX-512 VNNI and the AMX table, their instructions emulated: the same kernel files as isa/avx512_vnni.cpp and isa/amx_int8.cpp.
#include "amx_emulation.h"
#include "avx512_emulation.h"
#include "backends/cpu/isa/begin_isa.inl.h"

namespace llmrt::cpu::avx512_emulated {
namespace {

#define __m512i Int512
#define __m512 Float512

#include "backends/cpu/isa/amx/kernels.inl.h"

}  // namespace

extern const KernelTable kTable, kTileTable;
const KernelTable kTable = make_avx512_table("avx512_emulated");
const KernelTable kTileTable = make_amx_table("amx_emulated");

bool tiles_are_released();
bool tiles_are_released() { return !t_tiles.configured; }

}  // namespace llmrt::cpu::avx512_emulated
