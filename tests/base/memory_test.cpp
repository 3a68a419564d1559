#include "base/memory.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

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
    REQUIRE(small);
    REQUIRE(large);
    CHECK(reinterpret_cast<uintptr_t>(small.data()) % 64 == 0);
    CHECK(reinterpret_cast<uintptr_t>(large.data()) % (2u << 20) == 0);
    large.data()[large.size() - 1] = 1;
    Buffer moved = std::move(large);
    CHECK(moved.size() == size_t{5} << 20);
    CHECK(allocated_bytes() > before + (5 << 20));
  }
  CHECK(allocated_bytes() == before);
}

TEST_CASE("memory: an impossible size is a null buffer") {
  CHECK_FALSE(Buffer::make(SIZE_MAX / 2));
  CHECK_FALSE(Buffer::make(0));
}

TEST_CASE("memory: the table cannot be changed once used") { CHECK_FALSE(set_allocator({})); }
