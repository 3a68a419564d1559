// What the system says about the machine and this process's share of it.
#pragma once

#include "support.h"

namespace cli {

// Which instruction-set tables this processor could run, and what the better ones lack.
struct TableCheck {
  const char* name;
  std::vector<std::string> missing;  // processor flags, or what the system refuses
};
std::vector<TableCheck> check_tables();

Json system_json();        // {"os", "kernel"}
std::string build_text();  // what this tool was compiled by
Json quota_json();         // CPUs allowed by affinity and cgroup
Json huge_pages_json();    // transparent huge pages

// One measured second: how fast memory can be read and how fast floats can be multiplied, all threads together.
struct Roofline {
  double read_gbps = 0;
  double gflops = 0;
  int threads = 1;
};
Roofline measure_roofline(int threads);

}  // namespace cli
