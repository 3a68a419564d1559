#include "kv/prefix_node.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "base/plant.h"

namespace llmrt {
namespace {

size_t compared_tokens(std::span<const int32_t> block) {
  return LLMRT_PLANT(match_one_token_short, block.size(), block.size() - 1);
}

// < 0: a before b; 0: the same tokens
int compare(std::span<const int32_t> a, std::span<const int32_t> b) {
  const auto end = a.begin() + static_cast<std::ptrdiff_t>(compared_tokens(a));
  const auto [x, y] = std::mismatch(a.begin(), end, b.begin());
  if (x == end) return 0;
  return *x < *y ? -1 : 1;
}

// A bijection that looks random (Wellons, hash-prospector: low bias, 32 bits).
uint32_t scatter(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

}  // namespace

// ---- kids ----

PrefixNode* PrefixKids::find(std::span<const int32_t> block) const {
  PrefixNode* node = top_;
  while (node) {
    const int order = compare(block, node->tokens);
    if (order == 0) return node;
    node = order < 0 ? node->left : node->right;
  }
  return nullptr;
}

void PrefixKids::insert(PrefixNode* node) {
  PrefixNode** place = &top_;
  while (*place && (*place)->priority >= node->priority)
    place = compare(node->tokens, (*place)->tokens) < 0 ? &(*place)->left : &(*place)->right;
  // what was there is split into those before the node and those behind it
  PrefixNode* rest = *place;
  *place = node;
  PrefixNode **before = &node->left, **behind = &node->right;
  while (rest) {
    if (compare(rest->tokens, node->tokens) < 0) {
      *before = rest;
      before = &rest->right;
      rest = rest->right;
    } else {
      *behind = rest;
      behind = &rest->left;
      rest = rest->left;
    }
  }
  *before = *behind = nullptr;
}

void PrefixKids::erase(PrefixNode* node) {
  PrefixNode** place = &top_;
  while (*place != node)
    place = compare(node->tokens, (*place)->tokens) < 0 ? &(*place)->left : &(*place)->right;
  PrefixNode *before = node->left, *behind = node->right;
  while (before && behind) {
    if (before->priority > behind->priority) {
      *place = before;
      place = &before->right;
      before = before->right;
    } else {
      *place = behind;
      place = &behind->left;
      behind = behind->left;
    }
  }
  *place = before ? before : behind;
  node->left = node->right = nullptr;
}

// ---- store ----

static_assert(std::is_trivially_destructible_v<PrefixNode>);
static_assert(alignof(PrefixNode) % alignof(int32_t) == 0 && sizeof(int32_t) == sizeof(BlockId));

PrefixNodeStore::PrefixNodeStore(uint32_t block_tokens, uint32_t n_groups, uint32_t most_nodes)
    : block_tokens_(block_tokens),
      n_groups_(n_groups),
      most_slabs_(most_nodes / kNodesPerSlab + 1) {
  slabs_.reserve(most_slabs_);
}

bool PrefixNodeStore::add_slab() {
  if (slabs_.size() == most_slabs_) return false;
  const size_t words = size_t{kNodesPerSlab} * (block_tokens_ + n_groups_);
  Buffer slab = Buffer::make(kNodesPerSlab * sizeof(PrefixNode) + words * sizeof(int32_t));
  if (!slab) return false;
  auto* nodes = slab.as<PrefixNode>();
  auto* tokens = reinterpret_cast<int32_t*>(nodes + kNodesPerSlab);
  auto* blocks = reinterpret_cast<BlockId*>(tokens + size_t{kNodesPerSlab} * block_tokens_);
  for (uint32_t i = kNodesPerSlab; i-- > 0;) {
    auto* node = new (nodes + i) PrefixNode();
    node->tokens = {tokens + size_t{i} * block_tokens_, block_tokens_};
    node->blocks = {blocks + size_t{i} * n_groups_, n_groups_};
    node->right = free_;
    free_ = node;
  }
  slabs_.push_back(std::move(slab));
  return true;
}

PrefixNode* PrefixNodeStore::take(std::span<const int32_t> block) {
  if (!free_ && !add_slab()) return nullptr;
  PrefixNode* node = free_;
  free_ = node->right;
  node->right = nullptr;
  node->priority = scatter(++n_taken_);
  ++n_in_use_;
  std::copy(block.begin(), block.end(), node->tokens.begin());
  std::fill(node->blocks.begin(), node->blocks.end(), kZeroBlock);
  return node;
}

void PrefixNodeStore::give(PrefixNode* node) {
  const auto tokens = node->tokens;
  const auto blocks = node->blocks;
  *node = {};
  node->tokens = tokens;
  node->blocks = blocks;
  node->right = free_;
  free_ = node;
  --n_in_use_;
}

void PrefixNodeStore::trim() {
  if (n_in_use_ > 0) return;
  slabs_.clear();
  free_ = nullptr;
}

}  // namespace llmrt
