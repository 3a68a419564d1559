#include "kv/block_pool.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "kv_fuzz.h"

using namespace llmrt;
using namespace llmrt::test;

TEST_CASE(
    "block_pool: bytes are taken as blocks are first used and freed blocks are reused first") {
  FakeStore store(200, 16);
  BlockPool pool = BlockPool::create(test_layout({0}, 16, 200), store).value();
  CHECK(store.committed[kZeroBlock]);
  CHECK(store.committed[kTrashBlock]);
  std::vector<BlockId> held;
  for (int i = 0; i < 10; ++i) held.push_back(pool.take().value());
  CHECK(held.front() == kFirstBlock);
  CHECK(std::count(store.committed.begin(), store.committed.end(), true) == 12);
  pool.drop_ref(held[3]);
  CHECK(pool.take().value() == held[3]);
  CHECK(pool.validate().ok());
}

TEST_CASE("block_pool: trim gives whole free slabs back and they are committed again on use") {
  FakeStore store(200, 16);
  BlockPool pool = BlockPool::create(test_layout({0}, 16, 200), store).value();
  std::vector<BlockId> held;
  for (int i = 0; i < 198; ++i) held.push_back(pool.take().value());
  CHECK(pool.take().status().code() == Code::out_of_memory);
  for (BlockId b : held) {
    if (b != 70) pool.drop_ref(b);
  }
  CHECK(pool.trim() ==
        64 + 8);  // slabs 2 and 3; slab 0 has the reserved blocks, slab 1 has block 70
  CHECK(pool.validate().ok());
  CHECK_FALSE(store.committed[128]);
  CHECK(store.committed[71]);
  for (int i = 0; i < 197; ++i) CHECK(pool.take().ok());
  CHECK(store.committed[128]);
  CHECK(pool.validate().ok());
}

TEST_CASE(
    "block_pool: a failed commit changes nothing and only blocks with bytes count until it is "
    "tried again") {
  FakeStore store(100, 16);
  BlockPool pool = BlockPool::create(test_layout({0}, 16, 100), store).value();
  const BlockId a = pool.take().value();
  store.fail_commits = 1;
  CHECK(pool.take().status().code() == Code::out_of_memory);
  CHECK(pool.n_free() == 97);
  CHECK(pool.n_usable() == 0);
  pool.drop_ref(a);
  CHECK(pool.n_usable() == 1);
  pool.retry_commit();
  CHECK(pool.n_usable() == 98);
  CHECK(pool.validate().ok());
}
