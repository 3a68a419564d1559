#include "base/platform/new_file.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/scratch_dir.h"

using namespace llmrt;
using platform::NewFile;

namespace {

bool is_there(const std::string& path) { return std::filesystem::exists(path); }
std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
Status append(NewFile& file, std::string_view text) {
  return file.append(text.data(), text.size());
}

// No file of this process grows beyond n bytes.
class FileLimit {
 public:
  explicit FileLimit(rlim_t n) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = n;
    ::setrlimit(RLIMIT_FSIZE, &now);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_;
  sighandler_t handler_;
};

}  // namespace

TEST_CASE("new file: it is at its path whole or not at all") {
  const test::ScratchDir dir;
  const std::string path = dir.path() + "/a";
  {
    NewFile file;
    REQUIRE(file.create(path, 6).ok());
    REQUIRE(append(file, "abc").ok());
    CHECK(!is_there(path));
    REQUIRE(append(file, "def").ok());
    REQUIRE(file.publish().ok());
    CHECK(content(path) == "abcdef");
  }
  CHECK(content(path) == "abcdef");
  CHECK(!is_there(path + ".tmp"));
  struct stat info;
  REQUIRE(::stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("new file: what is not published goes, and what was there stays") {
  const test::ScratchDir dir;
  const std::string path = dir.write("a", "old");
  {
    NewFile file;
    REQUIRE(file.create(path, 3).ok());
    REQUIRE(append(file, "new").ok());
  }
  CHECK(content(path) == "old");
  CHECK(!is_there(path + ".tmp"));
}

TEST_CASE("new file: it takes the place of another, which stays with those who have it open") {
  const test::ScratchDir dir;
  const std::string path = dir.write("a", "old");
  std::ifstream reader(path, std::ios::binary);
  NewFile file;
  REQUIRE(file.create(path, 3).ok());
  REQUIRE(append(file, "new").ok());
  REQUIRE(file.publish().ok());
  CHECK(content(path) == "new");
  CHECK(std::string(std::istreambuf_iterator<char>(reader), {}) == "old");
}

TEST_CASE("new file: one writer at a time, and a dead writer's bytes are written over") {
  const test::ScratchDir dir;
  const std::string path = dir.path() + "/a";
  dir.write("a.tmp", "left behind by somebody who was killed");
  NewFile first, second;
  REQUIRE(first.create(path, 3).ok());
  CHECK(second.create(path, 3).code() == Code::busy);
  REQUIRE(append(first, "one").ok());
  CHECK(second.create(path, 3).code() == Code::busy);
  REQUIRE(first.publish().ok());
  CHECK(content(path) == "one");
  REQUIRE(second.create(path, 5).ok());
  CHECK(content(path) == "one");
  REQUIRE(append(second, "other").ok());
  REQUIRE(second.publish().ok());
  CHECK(content(path) == "other");
}

TEST_CASE("new file: a folder that takes none is an error with its reason") {
  const test::ScratchDir dir;
  NewFile file;
  const Status missing = file.create(dir.path() + "/none/a", 1);
  CHECK(missing.code() == Code::io);
  CHECK(missing.message() == "creating it failed: no such folder");
  const std::string plain = dir.write("plain", "x");
  CHECK(file.create(plain + "/a", 1).message() == "creating it failed: not in a folder");
  CHECK(file.create("/sys/llmrt_new_file", 1).code() == Code::io);  // whoever one is
  const Status long_name = file.create(dir.path() + "/" + std::string(300, 'n'), 1);
  CHECK(long_name.code() == Code::io);
  CHECK(long_name.message() == "creating it failed: the name is too long");
  std::filesystem::create_directory(dir.path() + "/d");
  REQUIRE(file.create(dir.path() + "/d", 1).ok());
  const Status in_place = file.publish();
  CHECK(in_place.code() == Code::io);
  CHECK(in_place.message() == "renaming it failed: a folder is in its place");
  CHECK(!is_there(dir.path() + "/d.tmp"));
}

TEST_CASE("new file: what is no regular file at PATH.tmp is an error of its own, and stays") {
  const test::ScratchDir dir;
  NewFile file;
  std::filesystem::create_directory(dir.path() + "/a.tmp");
  const Status folder = file.create(dir.path() + "/a", 1);
  CHECK(folder.code() == Code::io);
  CHECK(folder.message() == "creating it failed: a folder is in its place");
  CHECK(std::filesystem::is_directory(dir.path() + "/a.tmp"));

  const std::string plain = dir.write("plain", "x");
  std::filesystem::create_symlink(plain, dir.path() + "/b.tmp");
  const Status link = file.create(dir.path() + "/b", 1);
  CHECK(link.code() == Code::io);
  CHECK(link.message() == "creating it failed: a link is in its place, or too many are on the way");
  CHECK(content(plain) == "x");
  CHECK(std::filesystem::is_symlink(dir.path() + "/b.tmp"));

  REQUIRE(::mkfifo((dir.path() + "/c.tmp").c_str(), 0600) == 0);
  const Status fifo = file.create(dir.path() + "/c", 1);
  CHECK(fifo.code() == Code::io);
  CHECK(fifo.message() == dir.path() + "/c.tmp is no regular file");
  CHECK(std::filesystem::is_fifo(dir.path() + "/c.tmp"));
}

TEST_CASE("new file: no room, at first or in the middle, leaves nothing behind") {
  const test::ScratchDir dir;
  const std::string path = dir.path() + "/a", text(2000, 'x');
  {
    NewFile file;
    const FileLimit limit(1000);
    CHECK(file.create(path, 1001).message() ==
          "creating it failed: 1001 bytes are needed, a file may have 1000 here");
    CHECK(!is_there(path + ".tmp"));
    REQUIRE(file.create(path, 1000).ok());
    const Status full = append(file, text);
    CHECK(full.code() == Code::io);
    CHECK(full.message() == "writing it failed: larger than a file may be");
    CHECK(full.detail()->sys_code == EFBIG);
  }
  CHECK(!is_there(path));
  CHECK(!is_there(path + ".tmp"));
}
