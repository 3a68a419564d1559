#include "base/platform/machine.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace llmrt::platform {
namespace {

// A small text of /proc or /sys. Takes no memory: it is read where an allocation may have failed.
class SmallText {
 public:
  explicit SmallText(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    const ssize_t n = read(fd, text_, sizeof text_ - 1);
    close(fd);
    text_[std::max<ssize_t>(n, 0)] = '\0';
    at_ = text_;
  }
  // The next number, -1: there is none ("max", or no such file).
  int64_t number() {
    char* end = at_;
    const long long value = std::strtoll(at_, &end, 10);
    if (end == at_) return -1;
    at_ = end;
    return value;
  }
  // The number behind a word.
  int64_t number_after(const char* word) {
    char* found = std::strstr(text_, word);
    if (!found) return -1;
    at_ = found + std::strlen(word);
    return number();
  }

 private:
  char text_[4096] = "";
  char* at_ = text_;
};

int64_t number_in(const char* path) { return SmallText(path).number(); }

// quota / period rounded up, 0 if there is no limit. Control groups of version 2, then 1.
uint32_t quota_cpus() {
  SmallText both("/sys/fs/cgroup/cpu.max");
  int64_t quota = both.number(), period = both.number();
  if (quota <= 0 || period <= 0) {
    quota = number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    period = number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  }
  return quota > 0 && period > 0 ? static_cast<uint32_t>((quota + period - 1) / period) : 0;
}

// Bytes, -1: no limit, or not known. Of what is used, file pages that nobody works on are there for the taking.
struct GroupMemory {
  int64_t limit = -1, used = -1;
};

// Control groups of version 2, then 1 (where "no limit" is a number near 2^63).
GroupMemory group_memory() {
  GroupMemory m;
  const char* usage = "/sys/fs/cgroup/memory.current";
  const char* statistics = "/sys/fs/cgroup/memory.stat";
  const char* inactive = "\ninactive_file ";
  m.limit = number_in("/sys/fs/cgroup/memory.max");
  if (m.limit < 0) {
    m.limit = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    usage = "/sys/fs/cgroup/memory/memory.usage_in_bytes";
    statistics = "/sys/fs/cgroup/memory/memory.stat";
    inactive = "\ntotal_inactive_file ";
  }
  if (m.limit < 0) return m;
  m.used = number_in(usage);
  const int64_t idle = SmallText(statistics).number_after(inactive);
  if (idle > 0 && m.used > idle) m.used -= idle;
  return m;
}

// Two hardware threads of one core add nothing to dense arithmetic: count each core once, by its lowest sibling.
bool first_of_core(int cpu) {
  char path[96];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                cpu);
  const int64_t first = number_in(path);
  return first < 0 || first == cpu;
}

// The least of those that are known.
int64_t least(std::initializer_list<int64_t> figures) {
  int64_t result = -1;
  for (const int64_t figure : figures)
    if (figure >= 0 && (result < 0 || figure < result)) result = figure;
  return result;
}

}  // namespace

uint32_t configured_cpus() {
  return static_cast<uint32_t>(std::max(sysconf(_SC_NPROCESSORS_CONF), 0l));
}

uint32_t allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  uint32_t cpus = 0, cores = 0;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &set)) continue;
      ++cpus;
      if (first_of_core(i)) ++cores;
    }
  }
  uint32_t n = std::max(1u, cores ? cores : cpus);
  if (const uint32_t quota = quota_cpus()) n = std::min(n, quota);
  return n;
}

MemoryFigures memory_figures() {
  MemoryFigures m;
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
  if (pages >= 0 && page_bytes >= 0) m.total = pages * page_bytes;
  const int64_t available = SmallText("/proc/meminfo").number_after("MemAvailable:");  // KiB
  const GroupMemory group = group_memory();
  const int64_t below_limit =
      group.limit >= 0 && group.used >= 0 ? std::max<int64_t>(group.limit - group.used, 0) : -1;
  m.free = least({available >= 0 ? available * 1024 : -1, below_limit});
  m.budget = least({m.total, group.limit});
  return m;
}

uint64_t hardware_capabilities() {
#if defined(__aarch64__)
  return getauxval(AT_HWCAP);
#else
  return 0;
#endif
}

}  // namespace llmrt::platform
