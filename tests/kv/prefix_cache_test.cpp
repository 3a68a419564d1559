#include "kv/prefix_cache.h"

#include <doctest/doctest.h>

#include "kv_fuzz.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {
std::vector<int32_t> iota(int32_t from, size_t n) {
  std::vector<int32_t> t(n);
  for (size_t i = 0; i < n; ++i) t[i] = from + static_cast<int32_t>(i);
  return t;
}
struct Bench {
  explicit Bench(std::vector<uint32_t> windows, uint32_t n_blocks = 100)
      : store(n_blocks, 16),
        pool(BlockPool::create(test_layout(std::move(windows), 16, n_blocks), store).value()),
        cache(pool) {}
  // Computes a whole prompt and forgets the sequence; returns its cached tokens.
  uint32_t run(const std::vector<int32_t>& tokens, const char* name_space = "") {
    SequenceKv s(pool.layout());
    const uint32_t n = static_cast<uint32_t>(tokens.size());
    const PrefixHit hit = cache.match(name_space, tokens, n - 1);
    cache.attach(s, name_space, hit);
    REQUIRE(s.reserve(pool, n).ok());
    s.commit(n);
    cache.publish(s, tokens, n);
    s.slide(pool);
    cache.release(s);
    return hit.n_tokens;
  }
  FakeStore store;
  BlockPool pool;
  PrefixCache cache;
};
}  // namespace

TEST_CASE("prefix_cache: a prompt seen before is found up to its last full block") {
  Bench b({0});
  CHECK(b.run(iota(0, 50)) == 0);
  CHECK(b.run(iota(0, 50)) == 48);
  CHECK(b.run(iota(0, 48)) == 32);  // one token at least is computed
  auto other = iota(0, 50);
  other[47] = 7;
  CHECK(b.run(other) == 32);
  CHECK(b.run(iota(1, 50)) == 0);
}

TEST_CASE("prefix_cache: namespaces never see each other's blocks") {
  Bench b({0});
  b.run(iota(0, 50), "a");
  CHECK(b.run(iota(0, 50), "b") == 0);
  CHECK(b.run(iota(0, 50), "a") == 48);
}

TEST_CASE("prefix_cache: a hit is the minimum over groups when a window group lost its blocks") {
  Bench b({0, 20});
  b.run(iota(0, 200));
  CHECK(b.run(iota(0, 200)) == 192);
  // the oldest things to give back are window blocks; the path itself stays
  CHECK(b.cache.evict(1) == 1);
  CHECK(b.run(iota(0, 200)) == 192);
}

TEST_CASE("prefix_cache: leaves go least recently used first and a node in use stays") {
  Bench b({0});
  b.run(iota(0, 33));
  b.run(iota(1000, 33));
  SequenceKv holder(b.pool.layout());
  b.cache.attach(holder, "", b.cache.match("", iota(0, 33), 32));
  CHECK(holder.computed() == 32);
  CHECK(b.cache.evict(100) == 2);  // the other prompt's two blocks
  CHECK(b.cache.n_nodes() == 2);
  b.cache.release(holder);
  CHECK(b.cache.evict(100) == 2);
  CHECK(b.cache.n_nodes() == 0);
  CHECK(b.pool.n_free() == b.pool.layout().capacity());
}

TEST_CASE("prefix_cache: many texts behind one node are all found, in any order, and all go") {
  Bench b({0}, 400);
  std::vector<std::vector<int32_t>> texts;
  for (int32_t i = 0; i < 300; ++i) {
    std::vector<int32_t> text = iota(0, 16);
    for (int32_t j = 0; j < 16; ++j) text.push_back(j == 5 ? i * 37 % 300 : 1);
    text.push_back(0);
    texts.push_back(text);
  }
  for (const auto& text : texts) b.run(text);
  CHECK(b.cache.n_nodes() == 301);
  CHECK(b.cache.n_slabs() == (301 + 1 + kNodesPerSlab - 1) / kNodesPerSlab);  // and the root
  CHECK(b.cache.validate().ok());
  for (const auto& text : texts) CHECK(b.run(text) == 32);
  CHECK(b.cache.evict(150) == 150);
  CHECK(b.cache.validate().ok());
  uint32_t n_found = 0;
  for (const auto& text : texts) n_found += b.cache.match("", text, 32).n_tokens == 32 ? 1 : 0;
  CHECK(n_found == 150);
  b.cache.clear();
  CHECK(b.cache.n_nodes() == 0);
  CHECK(b.pool.n_free() == b.pool.layout().capacity());
  const size_t n_slabs = b.cache.n_slabs();
  for (const auto& text : texts) b.run(text);
  CHECK(b.cache.n_slabs() == n_slabs);  // nodes are used again
}

TEST_CASE("prefix_cache: two sequences that computed the same block share one after publishing") {
  Bench b({0});
  const auto tokens = iota(0, 40);
  SequenceKv x(b.pool.layout()), y(b.pool.layout());
  for (SequenceKv* s : {&x, &y}) {
    b.cache.attach(*s, "", {});
    REQUIRE(s->reserve(b.pool, 40).ok());
    s->commit(40);
  }
  CHECK(b.pool.n_held() == 6);
  b.cache.publish(x, tokens, 40);
  b.cache.publish(y, tokens, 40);
  CHECK(b.pool.n_held() == 4);  // two shared blocks and two tails
  CHECK(x.tables()[0][1] == y.tables()[0][1]);
  b.cache.release(x);
  b.cache.release(y);
}
