// Every table the tests can run here: those of this processor, best first, and those of x86-64 that it may lack, with their instructions
// emulated. The scalar table is last. LLMRT_TEST_ONLY_TABLE names one table that alone runs beside the scalar one.
#pragma once

#include <cstdlib>
#include <cstring>
#include <vector>

#include "backends/cpu/kernel_table.h"

namespace llmrt::cpu::avx512_emulated {
extern const KernelTable kTable, kTileTable;
bool tiles_are_released();  // no configuration is in force on this thread
}  // namespace llmrt::cpu::avx512_emulated
namespace llmrt::cpu::avx_vnni_emulated {
extern const KernelTable kTable;
}

namespace llmrt::test {

inline std::vector<const cpu::KernelTable*> kernel_tables() {
  const auto available = cpu::available_kernel_tables();
  std::vector<const cpu::KernelTable*> tables(available.begin(), available.end());
#if defined(__x86_64__)
  if (cpu::find_kernel_table("avx2")) tables.insert(tables.begin(), &cpu::avx512_emulated::kTable);
#endif
  if (const char* only = std::getenv("LLMRT_TEST_ONLY_TABLE"))
    std::erase_if(tables, [only](const cpu::KernelTable* t) {
      return std::strcmp(t->name, only) != 0 && std::strcmp(t->name, "scalar") != 0;
    });
  return tables;
}

// With those that differ from one of these in linears and attention only.
inline std::vector<const cpu::KernelTable*> all_tables() {
  std::vector<const cpu::KernelTable*> tables = kernel_tables();
#if defined(__x86_64__)
  if (cpu::find_kernel_table("avx2"))
    tables.insert(tables.begin(),
                  {&cpu::avx512_emulated::kTileTable, &cpu::avx_vnni_emulated::kTable});
#endif
  return tables;
}

}  // namespace llmrt::test
