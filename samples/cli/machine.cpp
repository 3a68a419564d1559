#include "machine.h"

#include <sched.h>
#include <sys/utsname.h>
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace cli {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::set<std::string> processor_flags() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

struct TableNeeds {
  const char* name;
  std::vector<const char*> flags;
};

std::vector<TableNeeds> table_needs() {
#if defined(__x86_64__)
  return {{"amx_int8",
           {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "amx_tile", "amx_int8"}},
          {"avx512_vnni", {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"}},
          {"avx_vnni", {"avx2", "fma", "f16c", "avx_vnni"}},
          {"avx2", {"avx2", "fma", "f16c"}},
          {"scalar", {}}};
#elif defined(__aarch64__)
  return {
      {"neon_i8mm", {"asimddp", "i8mm"}}, {"sve", {"sve"}}, {"neon", {"asimddp"}}, {"scalar", {}}};
#else
  return {{"scalar", {}}};
#endif
}

// A system may know the processor's tile registers and yet refuse them to this process: the library asks, and so does this.
bool tiles_refused() {
#if defined(__x86_64__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) != 0;
#else
  return true;
#endif
}

// The least quota of this process's control group and of those around it, in CPUs; 0: none. Versions 2 and 1.
double group_quota() {
  const std::string root = "/sys/fs/cgroup";
  double least = 0;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_v2 = controllers == ",,";
    if (!is_v2 && controllers.find(",cpu,") == std::string::npos) continue;
    const std::string mount = is_v2 ? "" : std::ifstream(root + "/cpu") ? "/cpu" : "/cpu,cpuacct";
    std::string group = root + mount + line.substr(second + 1);
    for (; group.size() >= root.size(); group.erase(group.rfind('/'))) {
      std::istringstream text(is_v2 ? first_line(group + "/cpu.max")
                                    : first_line(group + "/cpu.cfs_quota_us") + " " +
                                          first_line(group + "/cpu.cfs_period_us"));
      double quota = 0, period = 0;
      if (text >> quota >> period && quota > 0 && period > 0 &&
          (least == 0 || quota / period < least))
        least = quota / period;
    }
  }
  return least;
}

}  // namespace

std::vector<TableCheck> check_tables() {
  const std::set<std::string> flags = processor_flags();
  std::vector<TableCheck> checks;
  for (const TableNeeds& table : table_needs()) {
    TableCheck check{table.name, {}};
    for (const char* flag : table.flags)
      if (!flags.contains(flag)) check.missing.emplace_back(flag);
    if (check.missing.empty() && table.name == std::string_view("amx_int8") && tiles_refused())
      check.missing.emplace_back("the system's permission to use tiles (arch_prctl)");
    checks.push_back(std::move(check));
  }
  return checks;
}

Json system_json() {
  Json json = {{"os", nullptr}, {"kernel", nullptr}};
  std::ifstream release("/etc/os-release");
  constexpr std::string_view kName = "PRETTY_NAME=";
  for (std::string line; std::getline(release, line);) {
    if (!line.starts_with(kName)) continue;
    line.erase(0, kName.size());
    std::erase(line, '"');
    json["os"] = line;
  }
  if (utsname name; uname(&name) == 0)
    json["kernel"] = std::string(name.sysname) + " " + name.release + " " + name.machine;
  return json;
}

std::string build_text() {
#if defined(__clang__)
  std::string text = __VERSION__;
#else
  std::string text = "g++ " __VERSION__;
#endif
#if !defined(NDEBUG)
  text += ", asserts on";
#endif
  return text;
}

Json quota_json() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
  Json json = {{"allowed_cpus", allowed}, {"cgroup_cpus", nullptr}};
  if (const double quota = group_quota(); quota > 0) json["cgroup_cpus"] = quota;
  return json;
}

Json huge_pages_json() {
  const std::string mode = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = mode.find('['), close = mode.find(']');
  if (open == std::string::npos || close == std::string::npos) return {{"transparent", nullptr}};
  return {{"transparent", mode.substr(open + 1, close - open - 1)}};
}

}  // namespace cli
