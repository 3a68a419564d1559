// Control groups: what this process may use, by its own group and all groups around it. Versions 1 and 2, also mounted side by side.
//   of_process   the text of /proc/self/cgroup, which names the process's groups
//   root         the folder where groups are mounted: /sys/fs/cgroup. In a container it may be the container's own group that is
//                mounted there, and the folders that of_process names are not to be seen: what is missing sets no limit
#pragma once

#include <cstdint>
#include <string_view>

namespace llmrt::platform {

// The path of the process's group, "": the mount's own. controller: of version 1 (line "4:cpu,cpuacct:/a/b"); "": version 2 ("0::/a").
std::string_view group_path(std::string_view of_process, std::string_view controller);

// quota and period in microseconds: "150000 100000" is 1.5 CPUs; "max 100000" and "-1 100000" are no limit: 0.
double quota_of(std::string_view quota_and_period);

double group_cpus(std::string_view of_process, const char* root);  // the least quota; 0: none

// Bytes, -1: no limit, or not known.
//   limit   the least of all groups (no limit in version 1: a number near 2^63)
//   left    the least that a group has below its limit; file pages that nobody works on are there for the taking
struct GroupMemory {
  int64_t limit = -1, left = -1;
};
GroupMemory group_memory(std::string_view of_process, const char* root);

}  // namespace llmrt::platform
