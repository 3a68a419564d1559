#include "base/platform/machine.h"

#include <unistd.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cstdio>

#include "base/platform/cgroup.h"
#include "base/platform/cpus.h"
#include "base/platform/small_text.h"
#include "base/platform/thread.h"

namespace llmrt::platform {
namespace {

constexpr const char* kOwnGroups = "/proc/self/cgroup";
constexpr const char* kGroups = "/sys/fs/cgroup";

CpuSet siblings_of(int32_t cpu) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                cpu);
  return parse_cpu_list(SmallText(path).text());
}

}  // namespace

uint32_t configured_cpus() {
  return static_cast<uint32_t>(std::max(sysconf(_SC_NPROCESSORS_CONF), 0l));
}

uint32_t automatic_workers(uint64_t cpu_mask) {
  CpuSet allowed = allowed_cpus(0);
  if (cpu_mask) {
    // a caller kept to other CPUs says nothing about the workers, which get the mask
    const uint64_t masked = allowed.bits[0] & cpu_mask;
    allowed = {};
    allowed.bits[0] = masked ? masked : cpu_mask;
  }
  return worker_count(
      allowed, [](int32_t cpu) { return siblings_of(cpu); },
      group_cpus(SmallText(kOwnGroups).text(), kGroups));
}

MemoryFigures memory_figures() {
  MemoryFigures m;
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages >= 0 && page_bytes >= 0) m.total = pages * page_bytes;
  const int64_t kib = number_after(SmallText("/proc/meminfo").text(), "MemAvailable:");
  const GroupMemory group = group_memory(SmallText(kOwnGroups).text(), kGroups);
  m.free = least(kib >= 0 ? kib * 1024 : -1, group.left);
  m.budget = least(m.total, group.limit);
  return m;
}

HardwareCapabilities hardware_capabilities() {
#if defined(__aarch64__)
  return {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
#else
  return {};
#endif
}

bool request_tiles() {
#if defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM, Linux 5.16
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace llmrt::platform
