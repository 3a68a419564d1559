// How many processors this process may really use: the affinity mask, then the cgroup quota (v2 and v1). Not
// hardware_concurrency(), which ignores both.
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/thread_pool.h"

namespace llmrt {
namespace {

// Reads a small text file into buf; false if it is not there.
bool read_small(const char* path, char* buf, size_t size) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, buf, size - 1);
  close(fd);
  if (n <= 0) return false;
  buf[n] = '\0';
  return true;
}

// quota / period rounded up, 0 if there is no limit.
uint32_t quota_cpus() {
  char buf[128];
  if (read_small("/sys/fs/cgroup/cpu.max", buf, sizeof buf) && std::strncmp(buf, "max", 3) != 0) {
    char* rest = nullptr;
    const long long quota = std::strtoll(buf, &rest, 10);
    const long long period = rest ? std::strtoll(rest, nullptr, 10) : 0;
    if (quota > 0 && period > 0) return static_cast<uint32_t>((quota + period - 1) / period);
  }
  char period_text[64];
  if (read_small("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", buf, sizeof buf) &&
      read_small("/sys/fs/cgroup/cpu/cpu.cfs_period_us", period_text, sizeof period_text)) {
    const long long quota = std::strtoll(buf, nullptr, 10);
    const long long period = std::strtoll(period_text, nullptr, 10);
    if (quota > 0 && period > 0) return static_cast<uint32_t>((quota + period - 1) / period);
  }
  return 0;
}

// Two hardware threads of one core add nothing to dense arithmetic: count each core once, by its lowest sibling.
bool first_of_core(int cpu) {
  char path[96], buf[64];
  std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                cpu);
  if (!read_small(path, buf, sizeof buf)) return true;
  return std::atoi(buf) == cpu;
}

}  // namespace

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
  return std::max(1u, n);
}

}  // namespace llmrt
