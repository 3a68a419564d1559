#include "machine.h"

#include <sched.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace cli {
namespace {

std::string first_line(const char* path) {
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
  return {{"avx512_vnni", {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni"}},
          {"avx2", {"avx2", "fma", "f16c"}},
          {"scalar", {}}};
#elif defined(__aarch64__)
  return {{"neon", {"asimddp"}}, {"scalar", {}}};
#else
  return {{"scalar", {}}};
#endif
}

}  // namespace

std::vector<TableCheck> check_tables() {
  const std::set<std::string> flags = processor_flags();
  std::vector<TableCheck> checks;
  for (const TableNeeds& table : table_needs()) {
    TableCheck check{table.name, {}};
    for (const char* flag : table.flags)
      if (!flags.contains(flag)) check.missing.emplace_back(flag);
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
  std::istringstream v2(first_line("/sys/fs/cgroup/cpu.max"));
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) {
    json["cgroup_cpus"] = std::stod(quota) / period;
  } else {
    const std::string v1 = first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    const std::string v1_period = first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (!v1.empty() && !v1_period.empty() && v1[0] != '-')
      json["cgroup_cpus"] = std::stod(v1) / std::stod(v1_period);
  }
  return json;
}

Json huge_pages_json() {
  const std::string mode = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  const size_t open = mode.find('['), close = mode.find(']');
  if (open == std::string::npos || close == std::string::npos) return {{"transparent", nullptr}};
  return {{"transparent", mode.substr(open + 1, close - open - 1)}};
}

}  // namespace cli
