// PrefixNode: one block of the prefix tree (prefix_cache.h), the followers of a node, and where nodes come from.
//
// The followers of a node are a treap (Seidel and Aragon, Randomized search trees, 1996): a search tree by tokens, a heap by random
// priority, linked through the nodes. So a text that branches takes no memory but its node, and finding one of n is expected to take
// O(log n). Not against a client that wants otherwise: priorities are a fixed function of how many nodes were taken before, so one that
// knows the order of all texts can predict them, and send texts whose tree is a list. That costs time, nothing else.
//
// Nodes come out of slabs of kNodesPerSlab, each one block of memory with the tokens and block ids of its nodes:
//
//   slab: | node | node | ... |  tokens [64][block_tokens]  |  blocks [64][n_groups]  |
//
// A node that leaves the tree is kept for the next one; slabs go with the store, or by trim(). So publishing takes memory only where the
// tree grows beyond its largest size so far, once for 64 nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory.h"
#include "graph/kv_spec.h"

namespace llmrt {

inline constexpr uint32_t kNodesPerSlab = 64;

struct PrefixNode;

class PrefixKids {
 public:
  bool empty() const { return top_ == nullptr; }
  PrefixNode* find(std::span<const int32_t> block) const;  // nullptr: none has these tokens
  void insert(PrefixNode* node);                           // precondition: no other has its tokens
  void erase(PrefixNode* node);
  // Ascending by tokens.
  template <class F>
  void for_each(F&& visit) const {
    walk(top_, visit);
  }

 private:
  template <class F>
  static void walk(PrefixNode* top, F& visit);
  PrefixNode* top_ = nullptr;
};

// Intrusive doubly linked list, oldest first.
struct PrefixLink {
  PrefixNode* previous = nullptr;
  PrefixNode* next = nullptr;
  bool linked = false;
};

struct PrefixNode {
  PrefixNode* parent = nullptr;  // nullptr: a root
  PrefixKids kids;
  PrefixNode *left = nullptr, *right = nullptr;  // among the parent's kids
  uint32_t priority = 0;                         // there
  uint32_t depth = 0;                            // blocks from the root, this one included; 0: root
  uint32_t pins = 0;
  std::span<int32_t> tokens;           // [block_tokens], of a root without meaning
  std::span<BlockId> blocks;           // [n_groups], of a root zero
  uint64_t used = 0, window_used = 0;  // ticks
  PrefixLink leaf, window;  // in the leaf list / in the list of nodes with a window block
};

template <class F>
void PrefixKids::walk(PrefixNode* top, F& visit) {
  if (!top) return;
  walk(top->left, visit);
  visit(*top);
  walk(top->right, visit);
}

class PrefixNodeStore {
 public:
  // At most so many nodes, rounded up to whole slabs.
  PrefixNodeStore(uint32_t block_tokens, uint32_t n_groups, uint32_t most_nodes);
  // A node of the tokens of `block` (none: a root), its blocks kZeroBlock. nullptr: no memory, or there are as many as there may be.
  PrefixNode* take(std::span<const int32_t> block);
  void give(PrefixNode* node);
  void trim();  // gives the slabs back if no node is taken
  size_t n_slabs() const { return slabs_.size(); }

 private:
  bool add_slab();

  uint32_t block_tokens_, n_groups_;
  size_t most_slabs_;
  uint32_t n_in_use_ = 0;
  uint32_t n_taken_ = 0;        // ever
  std::vector<Buffer> slabs_;   // room for most_slabs_ from the start
  PrefixNode* free_ = nullptr;  // linked by `right`
};

}  // namespace llmrt
