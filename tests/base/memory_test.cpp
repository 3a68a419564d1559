#include "base/memory.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"

using namespace llmrt;

TEST_CASE("memory: what is taken through new, aligned new and Buffer is given back whole") {
  const int64_t before = allocated_bytes();
  {
    std::vector<std::string> strings(100, std::string(1000, 'x'));
    struct alignas(128) Wide {
      char bytes[300];
    };
    auto wide = std::make_unique<Wide[]>(7);
    CHECK(reinterpret_cast<uintptr_t>(wide.get()) % 128 == 0);
    Buffer small = Buffer::make(100), large = Buffer::make(size_t{5} << 20);
    const Buffer one_page = Buffer::make(size_t{2} << 20);
    REQUIRE(small);
    REQUIRE(large);
    REQUIRE(one_page);
    CHECK(reinterpret_cast<uintptr_t>(small.data()) % 64 == 0);
    CHECK(reinterpret_cast<uintptr_t>(one_page.data()) % (2u << 20) == 0);
    CHECK(reinterpret_cast<uintptr_t>(large.data()) % (2u << 20) == 0);
    large.data()[large.size() - 1] = 1;
    Buffer moved = std::move(large);
    CHECK(moved.size() == size_t{5} << 20);
    CHECK(allocated_bytes() > before + (5 << 20));
  }
  CHECK(allocated_bytes() == before);
}

TEST_CASE(
    "memory: what libstdc++ takes for strerror, formatting and the start of threads comes through "
    "the table and goes back") {
  int64_t most = 0;
  const auto round = [&most] {
    const auto look = [&most] { most = std::max(most, allocated_bytes()); };
    const std::string name(3000, 'x');
    const std::string text = std::error_code(EACCES, std::system_category()).message();
    const Status failure = error(Code::io, "%s at %g: %s", name.c_str(), 1e300, text.c_str())
                               .at(std::to_string(1e300))
                               .sys(EACCES);
    const Status copy = failure;
    CHECK(copy.message() == failure.message());
    look();
    auto pool = ThreadPool::create({.n_workers = 3});
    REQUIRE(pool.ok());
    CHECK(pool.value()->run(0, 20, [](uint32_t, uint32_t) {}) == 20);
    look();
    std::thread([&look, &text] {
      const std::string own = text;
      look();
    }).join();
  };
  round();  // what stays for good is taken once
  const int64_t before = most = allocated_bytes();
  for (int i = 0; i < 50; ++i) round();
  CHECK(allocated_bytes() == before);
  CHECK(most > before + 3000);
}

TEST_CASE("memory: an impossible size is a null buffer") {
  CHECK_FALSE(Buffer::make(SIZE_MAX / 2));
  CHECK_FALSE(Buffer::make(0));
}

TEST_CASE("memory: the table cannot be changed once used") { CHECK_FALSE(set_allocator({})); }
