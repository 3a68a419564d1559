#include "kv/kv_check.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace llmrt {

Status validate_sequence(const BlockPool& pool, const SequenceKv& sequence) {
  const KvLayout& layout = pool.layout();
  const uint32_t P = layout.block_tokens, entries = sequence.n_entries();
  if (sequence.computed() > sequence.reserved())
    return error(Code::internal, "computed %u > reserved %u", sequence.computed(),
                 sequence.reserved());
  if (sequence.reserved() > entries * P)
    return error(Code::internal, "reserved %u > %u table entries of %u", sequence.reserved(),
                 entries, P);
  if (sequence.depth() > sequence.computed() / P)
    return error(Code::internal, "%u blocks in the tree, %u positions computed", sequence.depth(),
                 sequence.computed());
  for (uint32_t g = 0; g < layout.n_groups(); ++g) {
    const auto& table = sequence.tables()[g];
    if (table.size() != entries)
      return error(Code::internal, "group %u has %zu table entries, group 0 has %u", g,
                   table.size(), entries);
    if (sequence.first(g) > layout.live_from(g, sequence.computed()))
      return error(Code::internal, "group %u: entries below %u slid out, a row at %u sees entry %u",
                   g, sequence.first(g), sequence.computed(),
                   layout.live_from(g, sequence.computed()));
    for (uint32_t i = 0; i < entries; ++i) {
      const bool hole = table[i] == kZeroBlock;
      if (hole != (i < sequence.first(g)))
        return error(Code::internal, "group %u entry %u is block %u, entries below %u slid out", g,
                     i, table[i], sequence.first(g));
      if (!hole && (table[i] < kFirstBlock || table[i] >= layout.n_blocks))
        return error(Code::internal, "group %u entry %u names block %u", g, i, table[i]);
      if (!hole && i >= sequence.computed() / P + (sequence.computed() % P ? 1 : 0) &&
          pool.refs(table[i]) != 1)
        return error(Code::internal, "block %u will be written and has %u references", table[i],
                     pool.refs(table[i]));
    }
  }
  // the tree's own blocks up to where it stands
  for (const PrefixNode* n = sequence.node(); n && n->parent; n = n->parent) {
    for (uint32_t g = 0; g < layout.n_groups(); ++g) {
      if (n->depth > sequence.first(g) && sequence.tables()[g][n->depth - 1] != n->blocks[g])
        return error(Code::internal, "group %u entry %u is block %u, the tree's is %u", g,
                     n->depth - 1, sequence.tables()[g][n->depth - 1], n->blocks[g]);
    }
  }
  if (sequence.node() && sequence.node()->depth != sequence.depth())
    return error(Code::internal, "depth %u on a node of depth %u", sequence.depth(),
                 sequence.node()->depth);
  return {};
}

Status PrefixCache::validate() const {
  Status bad;
  uint64_t n_nodes = 0, n_leaves = 0, n_windows = 0;
  for_each_node([&](const PrefixNode& node) {
    if (!bad.ok()) return;
    const PrefixNode* before = nullptr;
    node.kids.for_each([&](const PrefixNode& kid) {
      if (kid.parent != &node || kid.depth != node.depth + 1)
        bad = error(Code::internal, "a prefix node of depth %u has depth %u above it", kid.depth,
                    node.depth);
      if (before && !std::lexicographical_compare(before->tokens.begin(), before->tokens.end(),
                                                  kid.tokens.begin(), kid.tokens.end()))
        bad = error(Code::internal, "prefix nodes of depth %u are out of order", kid.depth);
      for (const PrefixNode* below : {kid.left, kid.right}) {
        if (below && below->priority > kid.priority)
          bad = error(Code::internal, "prefix nodes of depth %u are no heap", kid.depth);
      }
      before = &kid;
    });
    if (!node.parent) return;
    ++n_nodes;
    n_leaves += node.leaf.linked;
    n_windows += node.window.linked;
    if (node.tokens.size() != pool_.layout().block_tokens)
      bad = error(Code::internal, "a prefix node has %zu tokens", node.tokens.size());
    if (node.leaf.linked != node.kids.empty())
      bad = error(Code::internal, "a prefix node of depth %u is wrongly listed as a leaf",
                  node.depth);
    bool window_block = false;
    for (uint32_t g = 0; g < node.blocks.size(); ++g) {
      const bool window = pool_.layout().groups[g].kind == AttnKind::window;
      if (node.blocks[g] == kZeroBlock) {
        if (!window)
          bad = error(Code::internal, "a prefix node of depth %u has no block in full group %u",
                      node.depth, g);
        continue;
      }
      window_block |= window;
      if (!pool_.published(node.blocks[g]))
        bad = error(Code::internal, "block %u in the tree is not published", node.blocks[g]);
    }
    if (window_block != node.window.linked)
      bad = error(Code::internal, "a prefix node of depth %u is wrongly in the window list",
                  node.depth);
  });
  LLMRT_TRY(std::move(bad));
  if (n_nodes != n_nodes_)
    return error(Code::internal, "the tree has %llu nodes and counts %llu",
                 static_cast<unsigned long long>(n_nodes),
                 static_cast<unsigned long long>(n_nodes_));
  uint64_t tick = 0;
  for (const PrefixNode* n = leaves_.first; n; n = n->leaf.next, --n_leaves) {
    if (n->used < tick) return error(Code::internal, "leaves are out of order");
    tick = n->used;
  }
  tick = 0;
  for (const PrefixNode* n = windows_.first; n; n = n->window.next, --n_windows) {
    if (n->window_used < tick) return error(Code::internal, "window nodes are out of order");
    tick = n->window_used;
  }
  if (n_leaves != 0 || n_windows != 0)
    return error(Code::internal, "a list of the prefix tree misses nodes");
  return {};
}

Status validate_kv(const BlockPool& pool, const PrefixCache& cache,
                   std::span<const SequenceKv* const> sequences) {
  LLMRT_TRY(pool.validate());
  LLMRT_TRY(cache.validate());
  std::vector<uint32_t> refs(pool.layout().n_blocks, 0), nodes(pool.layout().n_blocks, 0);
  std::unordered_map<const PrefixNode*, uint32_t> pins;
  for (const SequenceKv* sequence : sequences) {
    LLMRT_TRY(validate_sequence(pool, *sequence));
    if (sequence->node()) ++pins[sequence->node()];
    for (const auto& table : sequence->tables()) {
      for (BlockId b : table) refs[b] += b != kZeroBlock;
    }
  }
  Status bad;
  cache.for_each_node([&](const PrefixNode& node) {
    if (!bad.ok()) return;
    const auto it = pins.find(&node);
    if (node.pins != (it == pins.end() ? 0 : it->second))
      bad = error(Code::internal, "a prefix node of depth %u has %u pins, %u sequences stand on it",
                  node.depth, node.pins, it == pins.end() ? 0 : it->second);
    for (BlockId b : node.blocks) {
      if (b == kZeroBlock) continue;
      ++refs[b];
      if (++nodes[b] > 1) bad = error(Code::internal, "block %u is in two prefix nodes", b);
    }
  });
  LLMRT_TRY(std::move(bad));
  for (BlockId b = kFirstBlock; b < pool.layout().n_blocks; ++b) {
    if (refs[b] != pool.refs(b))
      return error(Code::internal, "block %u is named %u times and has %u references", b, refs[b],
                   pool.refs(b));
    if (pool.published(b) != (nodes[b] == 1))
      return error(Code::internal, "block %u is published: %d, in the tree: %u times", b,
                   pool.published(b), nodes[b]);
  }
  return {};
}

}  // namespace llmrt
