// PrefixCache: the KV of prompts and answers seen before, found again by their tokens.
//
// A tree per namespace; one node = one full block of tokens and its block id in every group. Children are sorted by their tokens and
// compared token by token: no hash decides anything, so nothing collides. (Path compression would need node splits; 8192 tokens in
// blocks of 32 are 256 nodes.) Nodes and their lists of children: prefix_node.h.
//
//   root "" --- [t0..t31] --- [t32..t63] --- [t64..t95]*        * a running sequence stands here (pins 1)
//            |   4 | 9         17 | 11        5 | 2             blocks: full | window
//            |            \-- [u32..u63]
//            |                 8 | 0                            0: the window group's block was given back
//
//   pins(node)  = sequences standing exactly on it; a sequence on a node holds the blocks it still needs of all nodes above
//   node.blocks[g] names a published block, or 0 in a window group; blocks of two nodes are disjoint
//   node.tokens = the tokens whose KV the blocks hold; only positions vouched for by finite logits are published
//   hit length  = the longest path length m * P for which every group has what a row at m * P can see  (minimum over groups)
//
// Eviction takes the least recently used of two kinds, until enough blocks are free: a leaf nobody stands on (whole node), and the
// window blocks of any node (the node stays: a longer hit through it is still possible). Blocks with refs > 1 are never freed by it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/block_pool.h"
#include "kv/prefix_node.h"
#include "kv/sequence_kv.h"

namespace llmrt {

struct PrefixHit {
  PrefixNode* node = nullptr;  // nullptr: nothing found
  uint32_t n_tokens = 0;
  // blocks of the hit that others hold already: attaching them takes nothing from free + idle
  uint32_t n_held = 0;
};

class PrefixCache {
 public:
  explicit PrefixCache(BlockPool& pool);
  ~PrefixCache() { clear(); }
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  // Longest usable prefix of at most max_tokens. Valid until the next call that is not const.
  PrefixHit match(std::string_view name_space, std::span<const int32_t> tokens,
                  uint32_t max_tokens) const;
  // Puts an empty sequence on the hit: tables filled, computed = reserved = hit.n_tokens. A miss puts it on the root.
  void attach(SequenceKv& sequence, std::string_view name_space, const PrefixHit& hit);
  // Publishes the full blocks below position n (<= computed) of an attached sequence. tokens: its tokens from position 0 on.
  // Where the tree has the node already, the sequence's equal block is swapped for the tree's. Without memory for a node it publishes
  // less: others then compute those blocks themselves.
  void publish(SequenceKv& sequence, std::span<const int32_t> tokens, uint32_t n);
  // Gives all blocks of a sequence back and takes it off the tree. Never allocates.
  void release(SequenceKv& sequence);
  // Frees at least n blocks if it can; returns how many became free.
  uint32_t evict(uint32_t n);
  void clear() { evict(UINT32_MAX); }
  void trim() { store_.trim(); }  // memory of an empty tree

  uint64_t n_nodes() const { return n_nodes_; }
  size_t n_slabs() const { return store_.n_slabs(); }  // of nodes, each one block of memory
  uint64_t n_evicted() const { return n_evicted_; }

  // Walks every node, parents before kids (validation and tests).
  template <class F>
  void for_each_node(F&& visit) const {
    std::vector<const PrefixNode*> todo;
    for (const auto& root : roots_) todo.push_back(root.node);
    while (!todo.empty()) {
      const PrefixNode* node = todo.back();
      todo.pop_back();
      visit(*node);
      node->kids.for_each([&](const PrefixNode& kid) { todo.push_back(&kid); });
    }
  }
  Status validate() const;  // links, order, depth, published blocks (kv_check.cpp)

 private:
  struct Root {
    std::string name;
    PrefixNode* node = nullptr;
  };
  struct List {
    PrefixNode* first = nullptr;
    PrefixNode* last = nullptr;
  };
  template <PrefixLink PrefixNode::*Link>
  static void unlink(List& list, PrefixNode* node);
  template <PrefixLink PrefixNode::*Link, uint64_t PrefixNode::*Tick>
  static void link(List& list, PrefixNode* node);  // keeps ascending ticks
  PrefixNode* root(std::string_view name);         // made on first use; nullptr: no memory
  PrefixNode* find_root(std::string_view name) const;
  void remove_empty_root(PrefixNode* node);
  void touch(PrefixNode* node);  // a sequence ends on it: its window tails are worth keeping too
  bool has_idle_window(const PrefixNode& node) const;
  void drop_window(PrefixNode* node);
  void remove_leaf(PrefixNode* node);
  PrefixNode* oldest_leaf() const;  // that nobody stands on; nullptr: none
  PrefixNode* make_node(std::span<const int32_t> block);

  BlockPool& pool_;
  PrefixNodeStore store_;
  std::vector<Root> roots_;  // ascending by name
  std::string spare_name_;   // memory of the last root's name, for the next one
  List leaves_, windows_;
  bool has_windows_ = false;
  uint64_t tick_ = 0, n_nodes_ = 0, n_evicted_ = 0;
  mutable std::vector<uint32_t> run_;  // [n_groups] scratch of match()
};

}  // namespace llmrt
