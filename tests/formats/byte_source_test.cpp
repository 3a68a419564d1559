#include "formats/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/scratch_dir.h"
#include "tests/support/test_data.h"

using namespace llmrt;

namespace {

std::string refusal(std::string_view path, Code code) {
  auto source = source_from_path(path);
  REQUIRE(!source.ok());
  CHECK(source.status().code() == code);
  return std::string(source.status().message());
}

struct Callbacks {
  std::vector<uint8_t> bytes;
  int64_t at_most = INT64_MAX;  // bytes per call
  int64_t fail_with = 1;        // <= 0: answer instead of reading
  int n_done = 0;

  static int64_t read(void* user, int64_t offset, void* dst, int64_t n) {
    auto& self = *static_cast<Callbacks*>(user);
    if (self.fail_with <= 0) return self.fail_with;
    n = std::min(n, self.at_most);
    std::memcpy(dst, self.bytes.data() + offset, static_cast<size_t>(n));
    return n;
  }
  static void done(void* user) { ++static_cast<Callbacks*>(user)->n_done; }
};

// Whether this process has the file mapped, by its name alone: the folder may be a link.
bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find(name) != std::string::npos;
}

}  // namespace

TEST_CASE("byte source: a path reads any range, and its own end is a bound") {
  test::ScratchDir dir;
  const std::string path = dir.write("digits", "0123456789");
  auto source = source_from_path(path).value();
  CHECK(source->size() == 10);
  CHECK(source->name() == path);
  CHECK(source->path() == path);
  char out[4] = {};
  CHECK(source->read(7, out, 3).ok());
  CHECK(std::string(out) == "789");
  CHECK(source->read(10, out, 0).ok());
  for (uint64_t offset : {uint64_t{8}, uint64_t{11}, UINT64_MAX}) {
    const Status status = source->read(offset, out, 3);
    CHECK(status.code() == Code::io);
    CHECK(status.message() ==
          path + ": 3 bytes at offset " + std::to_string(offset) + " pass its end at 10");
  }
  source->drop_behind(0, 10);
  source->drop_behind(5, UINT64_MAX);
}

TEST_CASE("byte source: what is not a regular file is refused at once, each by its kind") {
  test::ScratchDir dir;
  CHECK(refusal(dir.path(), Code::io) ==
        dir.path() + ": this is a directory, a model is loaded from a regular file");
  const std::string fifo = dir.path() + "/fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(refusal(fifo, Code::io) ==
        fifo + ": this is a FIFO, a model is loaded from a regular file");
  CHECK(refusal("/dev/zero", Code::io) ==
        "/dev/zero: this is a character device, a model is loaded from a regular file");
  const std::string empty = dir.write("empty", "");
  CHECK(refusal(empty, Code::format) == empty + ": the file is empty");
  const std::string missing = dir.path() + "/none.gguf";
  CHECK(refusal(missing, Code::not_found) == missing + ": cannot open: No such file or directory");
  CHECK(refusal(empty + "/x", Code::not_found) == empty + "/x: cannot open: Not a directory");
  CHECK(refusal("", Code::invalid_argument) == "the model path is empty");
  CHECK(refusal(std::string_view("a\0b", 3), Code::invalid_argument) ==
        "the model path has a NUL byte at 1");
}

TEST_CASE("byte source: a file that shrinks after opening is an error that names the offset") {
  test::ScratchDir dir;
  const std::string path = dir.write("shrinks", "0123456789");
  auto source = source_from_path(path).value();
  std::filesystem::resize_file(path, 4);
  char out[10];
  const Status status = source->read(2, out, 6);
  CHECK(status.code() == Code::io);
  CHECK(status.message() ==
        path + ": the file ends at offset 4, it had 10 bytes when it was opened");
}

TEST_CASE(
    "byte source: a mapping gives what reading gives, outlives its source and goes with its last "
    "user") {
  test::ScratchDir dir;
  const std::string path = dir.write("llmrt_mapped_digits", "0123456789");
  auto source = source_from_path(path).value();
  auto mapped = source->map(true).value();
  REQUIRE(mapped);
  CHECK(is_mapped("llmrt_mapped_digits"));
  source.reset();
  CHECK(mapped->size() == 10);
  CHECK(mapped->name() == path);
  char out[4] = {};
  CHECK(mapped->read(7, out, 3).ok());
  CHECK(std::string(out) == "789");
  CHECK(mapped->read(10, out, 0).ok());
  for (uint64_t offset : {uint64_t{8}, uint64_t{11}, UINT64_MAX}) {
    const Status status = mapped->read(offset, out, 3);
    CHECK(status.code() == Code::io);
    CHECK(status.message() ==
          path + ": 3 bytes at offset " + std::to_string(offset) + " pass its end at 10");
  }
  mapped->drop_behind(2, 8);
  mapped->drop_behind(5, UINT64_MAX);
  CHECK(mapped->read(0, out, 3).ok());
  CHECK(std::string(out) == "012");
  mapped.reset();
  CHECK(!is_mapped("llmrt_mapped_digits"));
}

TEST_CASE("byte source: a window that begins inside a page is mapped, what is no file is not") {
  test::ScratchDir dir;
  std::string text(1 << 18, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 % 251);
  const int fd = ::open(dir.write("asset", text).c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  for (const uint64_t at : {uint64_t{4}, uint64_t{4096}, uint64_t{70001}}) {
    auto window = source_from_fd(fd, at, 100000).value()->map(true).value();
    REQUIRE(window);
    std::string got(100000, '\0');
    CHECK(window->read(0, got.data(), got.size()).ok());
    CHECK(text.compare(at, got.size(), got) == 0);
    window->drop_behind(50000, 50000);
    CHECK(window->read(99999, got.data(), 1).ok());
    CHECK(got[0] == text[at + 99999]);
    CHECK(window->read(99999, got.data(), 2).code() == Code::io);
  }
  ::close(fd);
  CHECK(source_from_memory(text.data(), text.size(), nullptr, nullptr).value()->map(true).value() ==
        nullptr);
  Callbacks c;
  CHECK(source_from_callbacks(6, Callbacks::read, nullptr, &c).value()->map(true).value() ==
        nullptr);
}

TEST_CASE("byte source: memory is copied without done, and borrowed with it") {
  std::string text = "hello";
  auto copied = source_from_memory(text.data(), text.size(), nullptr, nullptr).value();
  int n_done = 0;
  auto borrowed =
      source_from_memory(
          text.data(), text.size(), [](void* user) { ++*static_cast<int*>(user); }, &n_done)
          .value();
  text = "HELLO";
  char out[6] = {};
  CHECK(copied->read(0, out, 5).ok());
  CHECK(std::string(out) == "hello");
  CHECK(borrowed->read(0, out, 5).ok());
  CHECK(std::string(out) == "HELLO");
  CHECK(borrowed->read(3, out, 3).code() == Code::io);
  CHECK(copied->path().empty());
  CHECK(n_done == 0);
  borrowed.reset();
  CHECK(n_done == 1);
  CHECK(source_from_memory(text.data(), 0, nullptr, nullptr).status().code() == Code::format);
  CHECK(source_from_memory(nullptr, 5, nullptr, nullptr).status().code() == Code::invalid_argument);
}

TEST_CASE("byte source: callbacks may answer in pieces, and a wrong answer is an error") {
  Callbacks c;
  c.bytes = {'a', 'b', 'c', 'd', 'e', 'f'};
  c.at_most = 2;
  auto source = source_from_callbacks(6, Callbacks::read, Callbacks::done, &c).value();
  char out[7] = {};
  CHECK(source->read(1, out, 5).ok());
  CHECK(std::string(out) == "bcdef");
  for (int64_t answer : {int64_t{0}, int64_t{-5}, INT64_MIN}) {
    c.fail_with = answer;
    const Status status = source->read(2, out, 3);
    CHECK(status.code() == Code::io);
    CHECK(status.message() == "<callbacks>: the read callback answered " + std::to_string(answer) +
                                  " for 3 bytes at offset 2");
  }
  CHECK(source->read(7, out, 1).code() == Code::io);
  source.reset();
  CHECK(c.n_done == 1);
  auto liar = source_from_callbacks(
                  6, [](void*, int64_t, void*, int64_t n) { return n + 1; }, nullptr, nullptr)
                  .value();
  CHECK(liar->read(0, out, 3).code() == Code::io);
  CHECK(source_from_callbacks(0, Callbacks::read, nullptr, nullptr).status().code() ==
        Code::format);
  CHECK(source_from_callbacks(5, nullptr, nullptr, nullptr).status().code() ==
        Code::invalid_argument);
  CHECK(source_from_callbacks(UINT64_MAX, Callbacks::read, nullptr, nullptr).status().code() ==
        Code::invalid_argument);
}

TEST_CASE("byte source: a window of a descriptor") {
  test::ScratchDir dir;
  const std::string path = dir.write("asset", "....0123456789,,,");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(fd >= 0);
  auto window = source_from_fd(fd, 4, 10).value();
  auto rest = source_from_fd(fd, 14, -1).value();
  for (const auto& [offset, length] :
       {std::pair<uint64_t, int64_t>{18, -1}, {4, 14}, {0, -2}, {0, INT64_MIN}, {UINT64_MAX, 1}}) {
    CHECK(source_from_fd(fd, offset, length).status().code() == Code::invalid_argument);
  }
  CHECK(source_from_fd(fd, 17, -1).status().code() == Code::format);
  ::close(fd);
  char out[11] = {};
  CHECK(window->size() == 10);
  CHECK(window->read(0, out, 10).ok());
  CHECK(std::string(out) == "0123456789");
  CHECK(window->read(9, out, 2).code() == Code::io);
  CHECK(rest->size() == 3);
  CHECK(source_from_fd(-1, 0, -1).status().code() == Code::io);

  int pipes[2];
  REQUIRE(::pipe(pipes) == 0);
  CHECK(source_from_fd(pipes[0], 0, -1).status().code() == Code::io);
  const int write_only = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const std::string name = "<fd " + std::to_string(write_only) + ">";
  CHECK(source_from_fd(write_only, 0, -1).status().message() ==
        name + ": it is open for writing only");
  ::close(write_only);
  ::close(pipes[0]);
  ::close(pipes[1]);
}

TEST_CASE("byte source: many threads read one source at the same time, and let it go behind them") {
  test::ScratchDir dir;
  std::string text(1 << 16, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7 % 251);
  const auto file = source_from_path(dir.write("shared", text)).value();
  for (const ByteSourcePtr& source : {file, file->map(true).value()}) {
    std::atomic<int> n_wrong{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::string got(1000, '\0');
        for (size_t i = 0; i < 200; ++i) {
          const size_t offset = (i * 311 + t * 5003) % (text.size() - got.size());
          if (!source->read(offset, got.data(), got.size()).ok() ||
              text.compare(offset, got.size(), got) != 0)
            ++n_wrong;
          source->drop_behind(offset, got.size());
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(n_wrong == 0);
  }
}
