#include "kv/prefix_node.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

using namespace llmrt;

namespace {
using Block = std::vector<int32_t>;
constexpr uint32_t kBlockTokens = 16, kGroups = 2;
}  // namespace

TEST_CASE(
    "prefix_node: a store gives so many nodes, each with room of its own, and gives them again") {
  PrefixNodeStore store(kBlockTokens, kGroups, 2 * kNodesPerSlab - 1);
  std::vector<PrefixNode*> nodes;
  for (int32_t i = 0;; ++i) {
    PrefixNode* node = store.take(Block(kBlockTokens, i));
    if (!node) break;
    CHECK(std::all_of(node->blocks.begin(), node->blocks.end(),
                      [](BlockId b) { return b == kZeroBlock; }));
    std::fill(node->blocks.begin(), node->blocks.end(), static_cast<BlockId>(i));
    nodes.push_back(node);
  }
  CHECK(nodes.size() == 2 * kNodesPerSlab);
  CHECK(store.n_slabs() == 2);
  for (size_t i = 0; i < nodes.size(); ++i) {
    CHECK(std::all_of(nodes[i]->tokens.begin(), nodes[i]->tokens.end(),
                      [&](int32_t t) { return t == static_cast<int32_t>(i); }));
    CHECK(std::all_of(nodes[i]->blocks.begin(), nodes[i]->blocks.end(),
                      [&](BlockId b) { return b == i; }));
  }
  nodes[5]->pins = 3;
  nodes[5]->depth = 7;
  store.give(nodes[5]);
  PrefixNode* again = store.take(Block(kBlockTokens, 99));
  CHECK(again == nodes[5]);
  CHECK(again->pins == 0);
  CHECK(again->depth == 0);
  CHECK(again->blocks[0] == kZeroBlock);
  CHECK(store.take(Block(kBlockTokens, 1)) == nullptr);
  store.trim();
  CHECK(store.n_slabs() == 2);
  for (PrefixNode* node : nodes) store.give(node);
  store.trim();
  CHECK(store.n_slabs() == 0);
  CHECK(store.take(Block(kBlockTokens, 1)) != nullptr);
  CHECK(store.n_slabs() == 1);
}

TEST_CASE(
    "prefix_node: kids in random order are found, listed ascending, and only those that are "
    "there") {
  std::mt19937 rng(3);
  PrefixNodeStore store(kBlockTokens, kGroups, 400);
  PrefixKids kids;
  std::map<Block, PrefixNode*> want;
  for (int step = 0; step < 4000; ++step) {
    Block block(kBlockTokens);
    for (int32_t& token : block) token = 1;
    block[rng() % kBlockTokens] = static_cast<int32_t>(rng() % 20) - 2;  // negative ids too
    PrefixNode* found = kids.find(block);
    const auto it = want.find(block);
    CHECK(found == (it == want.end() ? nullptr : it->second));
    if (!found) {
      PrefixNode* node = store.take(block);
      REQUIRE(node);
      kids.insert(node);
      want[block] = node;
    } else if (rng() % 2) {
      kids.erase(found);
      store.give(found);
      want.erase(it);
    }
    if (step % 50 != 0) continue;
    std::vector<const PrefixNode*> listed, sorted;
    kids.for_each([&](const PrefixNode& node) {
      listed.push_back(&node);
      for (const PrefixNode* below : {node.left, node.right})
        CHECK((!below || below->priority <= node.priority));
    });
    for (const auto& [tokens, node] : want) sorted.push_back(node);
    CHECK(listed == sorted);
  }
  CHECK(want.size() > 100);
  while (!want.empty()) {
    kids.erase(want.begin()->second);
    want.erase(want.begin());
  }
  CHECK(kids.empty());
}

TEST_CASE("prefix_node: a thousand kids that come in order are found in few looks") {
  PrefixNodeStore store(kBlockTokens, kGroups, 1000);
  PrefixKids kids;
  std::vector<PrefixNode*> nodes;
  for (int32_t i = 0; i < 1000; ++i) {
    nodes.push_back(store.take(Block(kBlockTokens, i)));
    kids.insert(nodes.back());
  }
  // The number of nodes above one: 2 ln n = 14 on average in a treap, and hardly ever more than three times that.
  const auto depth_below = [](auto&& self, const PrefixNode* node) -> size_t {
    return node ? 1 + std::max(self(self, node->left), self(self, node->right)) : 0;
  };
  size_t deepest = 0;
  for (const PrefixNode* node : nodes) deepest = std::max(deepest, depth_below(depth_below, node));
  CHECK(deepest <= 42);
}
