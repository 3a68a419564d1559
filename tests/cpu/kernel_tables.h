// Every table the tests can run here: those of this processor, best first, and AVX-512 VNNI with its instructions emulated. The
// scalar table is last.
#pragma once

#include <vector>

#include "backends/cpu/kernel_table.h"

namespace llmrt::cpu::avx512_emulated {
extern const KernelTable kTable;
}

namespace llmrt::test {

inline std::vector<const cpu::KernelTable*> kernel_tables() {
  const auto available = cpu::available_kernel_tables();
  std::vector<const cpu::KernelTable*> tables(available.begin(), available.end());
#if defined(__x86_64__)
  if (cpu::find_kernel_table("avx2")) tables.insert(tables.begin(), &cpu::avx512_emulated::kTable);
#endif
  return tables;
}

}  // namespace llmrt::test
