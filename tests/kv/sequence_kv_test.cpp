#include "kv/sequence_kv.h"

#include <doctest/doctest.h>

#include "kv_fuzz.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {
struct Bench {
  explicit Bench(std::vector<uint32_t> windows, uint32_t n_blocks = 50)
      : store(n_blocks, 16),
        pool(BlockPool::create(test_layout(std::move(windows), 16, n_blocks), store).value()),
        cache(pool) {}
  void run(SequenceKv& s, uint32_t n) {
    REQUIRE(s.reserve(pool, n).ok());
    s.commit(n);
  }
  FakeStore store;
  BlockPool pool;
  PrefixCache cache;
};
}  // namespace

TEST_CASE("sequence_kv: four samples of one prompt hold one prompt and four tails") {
  Bench b({0});
  SequenceKv first(b.pool.layout());
  b.run(first, 40);  // 2 full blocks and a tail of 8
  std::vector<SequenceKv> forks;
  forks.reserve(3);
  for (int i = 0; i < 3; ++i)
    first.fork_to(b.pool, forks.emplace_back(SequenceKv(b.pool.layout())));
  CHECK(b.pool.n_held() == 3);
  for (auto& f : forks) CHECK(f.reserve(b.pool, 41).value() == 1);
  CHECK(b.pool.n_held() == 6);
  CHECK(first.reserve(b.pool, 41).value() == 0);  // the last holder writes in place
  CHECK(b.store.n_copies == 3);
  b.cache.release(forks[0]);
  CHECK(b.pool.n_held() == 5);
  for (auto& f : forks) b.cache.release(f);
  b.cache.release(first);
  CHECK(b.pool.n_free() == b.pool.layout().capacity());
}

TEST_CASE(
    "sequence_kv: a window group holds no more than its window and a truncate below it keeps "
    "nothing") {
  Bench b({0, 20});
  SequenceKv s(b.pool.layout());
  for (uint32_t n = 1; n <= 200; ++n) {
    b.run(s, n);
    s.slide(b.pool);
    CHECK(validate_sequence(b.pool, s).ok());
    CHECK(s.n_blocks() <= b.pool.layout().worst_blocks(n, 1));
  }
  CHECK(s.tables()[1][0] == kZeroBlock);
  CHECK(s.truncate(b.pool, 199) == 199);
  CHECK(s.truncate(b.pool, 100) == 0);
  CHECK(b.pool.n_held() == 0);
}

TEST_CASE("sequence_kv: tables made for a length stay where they are up to it, forks too") {
  Bench b({0, 20});
  SequenceKv s(b.pool.layout()), fork(b.pool.layout());
  for (SequenceKv* kv : {&s, &fork}) kv->reserve_tables(b.pool.layout(), 100);
  const auto places = [](const SequenceKv& kv) {
    return std::pair(kv.tables()[0].data(), kv.tables()[1].data());
  };
  const auto at_first = places(s), fork_at_first = places(fork);
  b.run(s, 40);
  s.fork_to(b.pool, fork);
  b.run(fork, 41);  // a copied tail
  for (uint32_t n = 41; n <= 100; ++n) {
    b.run(s, n);
    s.slide(b.pool);
  }
  CHECK(places(s) == at_first);
  CHECK(places(fork) == fork_at_first);
  CHECK(fork.computed() == 41);
  CHECK(validate_sequence(b.pool, fork).ok());
  b.cache.release(fork);
  b.cache.release(s);
  CHECK(b.pool.n_held() == 0);
}

TEST_CASE("sequence_kv: a reserve that fails halfway takes nothing") {
  Bench b({0, 0}, 2 + 6);
  SequenceKv s(b.pool.layout());
  b.run(s, 16);
  CHECK(b.pool.n_free() == 4);
  CHECK_FALSE(s.reserve(b.pool, 16 * 4).ok());
  CHECK(b.pool.n_free() == 4);
  CHECK(s.n_entries() == 1);
  CHECK(s.reserve(b.pool, 16 * 3).ok());
  b.cache.release(s);
}
