#include "base/platform/cpus.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/platform/small_text.h"

namespace llmrt::platform {
namespace {

bool take(char c, std::string_view& text) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

int32_t lowest_of_both(const CpuSet& a, const CpuSet& b) {
  for (int32_t i = 0; i < 16; ++i)
    if (const uint64_t both = a.bits[i] & b.bits[i]) return i * 64 + std::countr_zero(both);
  return -1;
}

}  // namespace

CpuSet parse_cpu_list(std::string_view text) {
  CpuSet cpus;
  do {
    const int64_t first = take_number(text);
    if (first < 0) break;
    const int64_t last = take('-', text) ? take_number(text) : first;
    for (int64_t cpu = first; cpu <= std::min<int64_t>(last, 1023); ++cpu)
      cpus.add(static_cast<int32_t>(cpu));
  } while (take(',', text));
  return cpus;
}

uint32_t worker_count(const CpuSet& allowed, FunctionRef<CpuSet(int32_t cpu)> siblings,
                      double quota_cpus) {
  uint32_t n = 0;
  for (int32_t cpu = 0; cpu < 1024; ++cpu) {
    if (!allowed.has(cpu)) continue;
    const CpuSet core = siblings(cpu);
    if (!core.has(cpu) || lowest_of_both(core, allowed) == cpu) ++n;
  }
  if (quota_cpus > 0 && quota_cpus < n) n = static_cast<uint32_t>(std::ceil(quota_cpus));
  return std::max(n, 1u);
}

}  // namespace llmrt::platform
