#include "base/platform/cgroup.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "support/scratch_dir.h"

using namespace llmrt;
using platform::group_path;

namespace {

// A folder like /sys/fs/cgroup.
struct Tree {
  test::ScratchDir folder;
  void file(const std::string& group, const char* name, const std::string& text) {
    std::filesystem::create_directories(folder.path() + "/" + group);
    folder.write(group + "/" + name, text);
  }
  const char* root() const { return folder.path().c_str(); }
  double cpus(const char* of_process) const { return platform::group_cpus(of_process, root()); }
  platform::GroupMemory memory(const char* of_process) const {
    return platform::group_memory(of_process, root());
  }
};

constexpr const char* kV1 =
    "12:pids:/a\n5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n1:name=systemd:/a\n0::/a\n";

}  // namespace

TEST_CASE("cgroup: the process's groups are found by controller") {
  CHECK(group_path("0::/user.slice/app.service\n", "") == "/user.slice/app.service");
  CHECK(group_path("0::/user.slice/app.service\n", "cpu") == "");
  CHECK(group_path(kV1, "") == "/a");
  CHECK(group_path(kV1, "cpu") == "/docker/x");
  CHECK(group_path(kV1, "cpuacct") == "/docker/x");
  CHECK(group_path(kV1, "memory") == "/docker/x");
  CHECK(group_path(kV1, "cpuset") == "");
  CHECK(group_path("7:cpuset:/set\n8:cpu:/a:b", "cpu") == "/a:b");
  CHECK(group_path("0::/\n", "") == "");
  CHECK(group_path("0::/../sibling\n", "") == "");  // outside of the namespace
  CHECK(group_path("", "") == "");
  CHECK(group_path("0:\nnonsense\n\n0::/b\n", "") == "/b");
}

TEST_CASE("cgroup: a quota is a share of its period, or none") {
  CHECK(platform::quota_of("150000 100000\n") == 1.5);
  CHECK(platform::quota_of("300000 100000\n") == 3.0);
  CHECK(platform::quota_of("5000\n100000\n") == 0.05);
  for (const char* none : {"max 100000\n", "-1\n100000\n", "", "100000", "100000 0", "0 100000"})
    CHECK_MESSAGE(platform::quota_of(none) == 0, none);
}

TEST_CASE("cgroup: version 2, the least quota of the group and those around it counts") {
  Tree tree;
  const char* deep = "0::/a/b/c\n";
  CHECK(tree.cpus(deep) == 0);
  tree.file("a/b/c", "cpu.max", "max 100000\n");
  CHECK(tree.cpus(deep) == 0);
  tree.file("a", "cpu.max", "250000 100000\n");
  CHECK(tree.cpus(deep) == 2.5);
  tree.file("a/b/c", "cpu.max", "800000 100000\n");
  CHECK(tree.cpus(deep) == 2.5);
  tree.file("a/b", "cpu.max", "50000 100000\n");
  CHECK(tree.cpus(deep) == 0.5);
  CHECK(tree.cpus("0::/a\n") == 2.5);
  CHECK(tree.cpus("0::/other\n") == 0);
}

TEST_CASE("cgroup: in a container the mount's own group is the process's") {
  Tree tree;
  tree.file("", "cpu.max", "200000 100000\n");
  tree.file("", "memory.max", "1000\n");
  for (const char* of_process : {"0::/\n", "0::/docker/unseen\n", "0::/../x\n", ""}) {
    CHECK_MESSAGE(tree.cpus(of_process) == 2.0, of_process);
    CHECK_MESSAGE(tree.memory(of_process).limit == 1000, of_process);
  }
}

TEST_CASE("cgroup: version 1, under either name of the controller") {
  for (const char* mount : {"cpu", "cpu,cpuacct"}) {
    Tree tree;
    const std::string docker = std::string(mount) + "/docker";
    tree.file(docker + "/x", "cpu.cfs_quota_us", "-1\n");
    tree.file(docker + "/x", "cpu.cfs_period_us", "100000\n");
    CHECK(tree.cpus(kV1) == 0);
    tree.file(docker, "cpu.cfs_quota_us", "300000\n");
    CHECK(tree.cpus(kV1) == 0);  // a quota of no known period
    tree.file(docker, "cpu.cfs_period_us", "200000\n");
    CHECK(tree.cpus(kV1) == 1.5);
    tree.file("a", "cpu.max", "100000 100000\n");  // both versions side by side
    CHECK(tree.cpus(kV1) == 1.0);
  }
}

TEST_CASE("cgroup: version 2, the least limit of memory, and the least that is left below one") {
  Tree tree;
  const char* deep = "0::/a/b\n";
  CHECK(tree.memory(deep).limit == -1);
  CHECK(tree.memory(deep).left == -1);
  tree.file("a/b", "memory.max", "max\n");
  tree.file("a/b", "memory.current", "700\n");
  CHECK(tree.memory(deep).limit == -1);
  tree.file("a", "memory.max", "1000\n");
  CHECK(tree.memory(deep).limit == 1000);
  CHECK(tree.memory(deep).left == -1);
  tree.file("a", "memory.current", "900\n");
  CHECK(tree.memory(deep).left == 100);
  tree.file("a", "memory.stat", "anon 5\ninactive_anon 7\ninactive_file 300\nactive_file 2\n");
  CHECK(tree.memory(deep).left == 400);
  tree.file("a/b", "memory.max", "800\n");
  CHECK(tree.memory(deep).limit == 800);
  CHECK(tree.memory(deep).left == 100);
  tree.file("a/b", "memory.current", "801\n");
  CHECK(tree.memory(deep).left == 0);
}

TEST_CASE("cgroup: version 1, memory") {
  Tree tree;
  tree.file("memory", "memory.limit_in_bytes", "9223372036854771712\n");  // no limit
  tree.file("memory/docker/x", "memory.limit_in_bytes", "5000\n");
  tree.file("memory/docker/x", "memory.usage_in_bytes", "4000\n");
  tree.file("memory/docker/x", "memory.stat",
            "inactive_file 1\ntotal_inactive_anon 9\ntotal_inactive_file 500\n");
  CHECK(tree.memory(kV1).limit == 5000);
  CHECK(tree.memory(kV1).left == 1500);
  CHECK(tree.memory("4:memory:/other\n").limit == 9223372036854771712);
}
