#include "base/platform/cgroup.h"

#include <algorithm>
#include <cstdio>

#include "base/platform/small_text.h"

namespace llmrt::platform {
namespace {

struct Group {
  const char* root;
  const char* mount;      // of a controller, "/cpu"; "": version 2
  std::string_view path;  // "/a/b"; "": the mount's own

  void append_file(const char* name, SmallText& text) const {
    char file[4096];
    const int n = std::snprintf(file, sizeof file, "%s%s%.*s/%s", root, mount,
                                static_cast<int>(path.size()), path.data(), name);
    if (n > 0 && static_cast<size_t>(n) < sizeof file) text.append(file);
  }
  int64_t number(const char* name) const {
    SmallText text;
    append_file(name, text);
    return number_in(text.text());
  }
  // On to the group around it; false: there is none to be seen.
  bool go_up() {
    if (path.empty()) return false;
    path = path.substr(0, path.rfind('/'));
    return true;
  }
};

bool names(std::string_view list, std::string_view word) {
  for (;;) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == list.npos) return false;
    list.remove_prefix(comma + 1);
  }
}

struct MemoryFiles {
  const char *limit, *used, *statistics, *idle;
};

void add_memory(Group group, const MemoryFiles& files, GroupMemory& memory) {
  do {
    const int64_t limit = group.number(files.limit);
    int64_t used = group.number(files.used);
    if (limit < 0) continue;
    memory.limit = least(memory.limit, limit);
    if (used < 0) continue;
    SmallText statistics;
    group.append_file(files.statistics, statistics);
    const int64_t idle = number_after(statistics.text(), files.idle);
    if (idle > 0 && used > idle) used -= idle;
    memory.left = least(memory.left, std::max<int64_t>(limit - used, 0));
  } while (group.go_up());
}

}  // namespace

std::string_view group_path(std::string_view of_process, std::string_view controller) {
  while (!of_process.empty()) {
    const size_t end = std::min(of_process.find('\n'), of_process.size());
    const std::string_view line = of_process.substr(0, end);
    of_process.remove_prefix(std::min(end + 1, of_process.size()));
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (!names(controllers, controller)) continue;
    const std::string_view path = line.substr(second + 1);
    // "/..": outside of the namespace, whose root is all that is to be seen
    return path.size() < 2 || path[0] != '/' || path.starts_with("/..") ? std::string_view() : path;
  }
  return {};
}

double quota_of(std::string_view quota_and_period) {
  const int64_t quota = take_number(quota_and_period), period = take_number(quota_and_period);
  return quota > 0 && period > 0 ? static_cast<double>(quota) / static_cast<double>(period) : 0;
}

double group_cpus(std::string_view of_process, const char* root) {
  const std::string_view unified = group_path(of_process, ""), path = group_path(of_process, "cpu");
  double cpus = 0;
  for (Group group : {Group{root, "", unified}, {root, "/cpu", path}, {root, "/cpu,cpuacct", path}})
    do {
      SmallText text;
      if (*group.mount) {
        group.append_file("cpu.cfs_quota_us", text);
        group.append_file("cpu.cfs_period_us", text);
      } else {
        group.append_file("cpu.max", text);
      }
      const double quota = quota_of(text.text());
      if (quota > 0 && (cpus == 0 || quota < cpus)) cpus = quota;
    } while (group.go_up());
  return cpus;
}

GroupMemory group_memory(std::string_view of_process, const char* root) {
  GroupMemory memory;
  add_memory({root, "", group_path(of_process, "")},
             {"memory.max", "memory.current", "memory.stat", "\ninactive_file "}, memory);
  add_memory(
      {root, "/memory", group_path(of_process, "memory")},
      {"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "\ntotal_inactive_file "},
      memory);
  return memory;
}

}  // namespace llmrt::platform
