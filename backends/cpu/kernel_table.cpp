#include "backends/cpu/kernel_table.h"

#include <array>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/cpu_features.h"
#include "base/platform/machine.h"

namespace llmrt::cpu {

// One object per instruction set defines its table (isa/<isa>.cpp).
namespace scalar {
extern const KernelTable kTable;
}
namespace avx2 {
extern const KernelTable kTable;
}
namespace avx_vnni {
extern const KernelTable kTable;
}
namespace avx512_vnni {
extern const KernelTable kTable;
}
namespace amx_int8 {
extern const KernelTable kTable;
}
namespace neon {
extern const KernelTable kTable;
}
namespace neon_i8mm {
extern const KernelTable kTable;
}
namespace sve {
extern const KernelTable kTable;
}

namespace {

struct Tables {
  std::array<const KernelTable*, 5> list{};
  size_t n = 0;
};

Tables detect_tables() {
  const CpuFeatures f = detect_cpu_features();
  Tables t;
#if defined(__x86_64__)
  if (f.amx_int8 && platform::request_tiles()) t.list[t.n++] = &amx_int8::kTable;
  if (f.avx512_vnni) t.list[t.n++] = &avx512_vnni::kTable;
  if (f.avx_vnni) t.list[t.n++] = &avx_vnni::kTable;
  if (f.avx2) t.list[t.n++] = &avx2::kTable;
#elif defined(__aarch64__)
  // Where a processor has both, its SVE vectors are of 128 or 256 bits, and smmla multiplies twice as much as sdot.
  if (f.neon_i8mm) t.list[t.n++] = &neon_i8mm::kTable;
  if (f.sve) t.list[t.n++] = &sve::kTable;
  if (f.neon_dotprod) t.list[t.n++] = &neon::kTable;
#endif
  t.list[t.n++] = &scalar::kTable;
  return t;
}

}  // namespace

std::span<const KernelTable* const> available_kernel_tables() {
  static const Tables kTables = detect_tables();
  return {kTables.list.data(), kTables.n};
}

const KernelTable* find_kernel_table(const char* name) {
  for (const KernelTable* t : available_kernel_tables())
    if (std::strcmp(t->name, name) == 0) return t;
  return nullptr;
}

const char* wanted_kernel_table() { return std::getenv("LLMRT_CPU_ISA"); }

const KernelTable& default_kernel_table() {
  const char* name = wanted_kernel_table();
  const KernelTable* wanted = name ? find_kernel_table(name) : nullptr;
  return wanted ? *wanted : *available_kernel_tables().front();
}

}  // namespace llmrt::cpu
