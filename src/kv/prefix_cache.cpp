#include "kv/prefix_cache.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/plant.h"

namespace llmrt {

PrefixCache::PrefixCache(BlockPool& pool)
    : pool_(pool),
      store_(pool.layout().block_tokens, pool.layout().n_groups(), pool.layout().n_blocks),
      run_(pool.layout().n_groups(), 0) {
  roots_.reserve(1);
  for (const KvGroup& group : pool.layout().groups) has_windows_ |= group.kind == AttnKind::window;
}

// ---- lists ----

template <PrefixLink PrefixNode::*Link>
void PrefixCache::unlink(List& list, PrefixNode* node) {
  PrefixLink& link = node->*Link;
  if (!link.linked) return;
  (link.previous ? (link.previous->*Link).next : list.first) = link.next;
  (link.next ? (link.next->*Link).previous : list.last) = link.previous;
  link = {};
}

template <PrefixLink PrefixNode::*Link, uint64_t PrefixNode::*Tick>
void PrefixCache::link(List& list, PrefixNode* node) {
  unlink<Link>(list, node);
  PrefixNode* before = list.last;  // nearly always right: new ticks are the largest
  if (before && before->*Tick > node->*Tick) {
    // a node that became a leaf again is among the oldest: look from the front
    PrefixNode* after = list.first;
    while (after->*Tick <= node->*Tick) after = (after->*Link).next;
    before = (after->*Link).previous;
  }
  PrefixLink& link = node->*Link;
  link.linked = true;
  link.previous = before;
  link.next = before ? (before->*Link).next : list.first;
  (before ? (before->*Link).next : list.first) = node;
  (link.next ? (link.next->*Link).previous : list.last) = node;
}

// ---- roots ----

PrefixNode* PrefixCache::find_root(std::string_view name) const {
  const auto it = std::lower_bound(roots_.begin(), roots_.end(), name,
                                   [](const Root& r, std::string_view n) { return r.name < n; });
  return it != roots_.end() && it->name == name ? it->node : nullptr;
}

PrefixNode* PrefixCache::root(std::string_view name) {
  if (PrefixNode* found = find_root(name)) return found;
  Root made{std::exchange(spare_name_, {}), nullptr};
  try {
    roots_.reserve(roots_.size() + 1);
    made.name.assign(name);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  made.node = make_node({});
  if (!made.node) return nullptr;
  const auto it = std::lower_bound(roots_.begin(), roots_.end(), name,
                                   [](const Root& r, std::string_view n) { return r.name < n; });
  return roots_.insert(it, std::move(made))->node;
}

void PrefixCache::remove_empty_root(PrefixNode* node) {
  if (node->parent || node->pins > 0 || !node->kids.empty()) return;
  const auto it =
      std::find_if(roots_.begin(), roots_.end(), [node](const Root& r) { return r.node == node; });
  spare_name_ = std::move(it->name);
  store_.give(node);
  roots_.erase(it);
}

// As many nodes as there are blocks are enough, unless windows have taken the blocks of many nodes away: then the oldest goes.
PrefixNode* PrefixCache::make_node(std::span<const int32_t> block) {
  PrefixNode* node = store_.take(block);
  if (node) return node;
  PrefixNode* leaf = oldest_leaf();
  if (!leaf) return nullptr;
  remove_leaf(leaf);
  return store_.take(block);
}

// ---- match, attach, publish ----

PrefixHit PrefixCache::match(std::string_view name_space, std::span<const int32_t> tokens,
                             uint32_t max_tokens) const {
  const KvLayout& layout = pool_.layout();
  const uint32_t P = layout.block_tokens, n_groups = layout.n_groups();
  PrefixNode* node = find_root(name_space);
  PrefixHit hit;
  if (!node) return hit;
  std::fill(run_.begin(), run_.end(), 0u);  // blocks present in a row, ending at the current node
  const uint32_t max_depth = std::min(static_cast<uint32_t>(tokens.size()), max_tokens) / P;
  for (uint32_t m = 1; m <= max_depth; ++m) {
    node = node->kids.find(tokens.subspan(size_t{m - 1} * P, P));
    if (!node) break;
    bool usable = true;
    for (uint32_t g = 0; g < n_groups; ++g) {
      run_[g] = node->blocks[g] == kZeroBlock ? 0 : run_[g] + 1;
      if (run_[g] < m - std::min(m, layout.live_from(g, m * P))) usable = false;
    }
    if (LLMRT_PLANT(match_ignores_window, usable, run_[0] == m)) hit = {node, m * P, 0};
  }
  for (PrefixNode* n = hit.node; n && n->parent; n = n->parent) {
    for (uint32_t g = 0; g < n_groups; ++g) {
      if (n->depth > layout.live_from(g, hit.n_tokens) && n->blocks[g] != kZeroBlock &&
          !pool_.idle(n->blocks[g]))
        ++hit.n_held;
    }
  }
  return hit;
}

void PrefixCache::attach(SequenceKv& sequence, std::string_view name_space, const PrefixHit& hit) {
  LLMRT_ASSERT(sequence.node_ == nullptr && sequence.n_entries() == 0);
  const KvLayout& layout = pool_.layout();
  const uint32_t depth = hit.node ? hit.node->depth : 0;
  for (auto& table : sequence.tables_) table.reserve(depth);
  PrefixNode* node = hit.node ? hit.node : root(name_space);
  // nothing below allocates
  for (uint32_t g = 0; g < layout.n_groups(); ++g) {
    sequence.tables_[g].assign(depth, kZeroBlock);
    sequence.first_[g] = std::min(depth, layout.live_from(g, hit.n_tokens));
  }
  for (PrefixNode* n = node; n && n->parent; n = n->parent) {
    for (uint32_t g = 0; g < layout.n_groups(); ++g) {
      if (n->depth <= sequence.first_[g] || n->blocks[g] == kZeroBlock) continue;
      sequence.tables_[g][n->depth - 1] = n->blocks[g];
      pool_.add_ref(n->blocks[g]);
    }
  }
  sequence.computed_ = sequence.reserved_ = hit.n_tokens;
  sequence.node_ = node;
  sequence.depth_ = depth;
  if (!node) return;
  ++node->pins;
  touch(node);
}

void PrefixCache::publish(SequenceKv& sequence, std::span<const int32_t> tokens, uint32_t n) {
  if (!sequence.node_) return;
  LLMRT_ASSERT(n <= sequence.computed_ && n <= tokens.size());
  const uint32_t P = pool_.layout().block_tokens, n_groups = pool_.layout().n_groups();
  while (sequence.depth_ < n / P) {
    const uint32_t i = sequence.depth_;
    const auto block = tokens.subspan(size_t{i} * P, P);
    PrefixNode* parent = sequence.node_;
    PrefixNode* node = parent->kids.find(block);
    if (!node) {
      node = make_node(block);
      if (!node) return;
      node->parent = parent;
      node->depth = i + 1;
      parent->kids.insert(node);
      unlink<&PrefixNode::leaf>(leaves_, parent);
      ++n_nodes_;
    }
    bool new_window = false;
    for (uint32_t g = 0; g < n_groups; ++g) {
      BlockId& entry = sequence.tables_[g][i];
      if (i < sequence.first_[g]) continue;  // slid out
      if (node->blocks[g] == kZeroBlock) {
        node->blocks[g] = entry;
        pool_.publish(entry);
        new_window |= pool_.layout().groups[g].kind == AttnKind::window;
      } else if (node->blocks[g] != entry) {
        pool_.add_ref(node->blocks[g]);
        pool_.drop_ref(entry);
        entry = node->blocks[g];
      }
    }
    node->used = ++tick_;
    if (node->kids.empty()) link<&PrefixNode::leaf, &PrefixNode::used>(leaves_, node);
    if (new_window || node->window.linked) {
      node->window_used = tick_;
      link<&PrefixNode::window, &PrefixNode::window_used>(windows_, node);
    }
    --parent->pins;
    ++node->pins;
    sequence.node_ = node;
    sequence.depth_ = i + 1;
  }
}

void PrefixCache::release(SequenceKv& sequence) {
  if (sequence.node_) touch(sequence.node_);
  sequence.truncate(pool_, 0);
  PrefixNode* node = sequence.node_;  // a root now
  if (!node) return;
  sequence.node_ = nullptr;
  --node->pins;
  remove_empty_root(node);
}

void PrefixCache::touch(PrefixNode* node) {
  if (!node->parent) return;
  node->used = ++tick_;
  if (node->leaf.linked) link<&PrefixNode::leaf, &PrefixNode::used>(leaves_, node);
  if (!has_windows_) return;
  const KvLayout& layout = pool_.layout();
  uint32_t from = node->depth;
  for (uint32_t g = 0; g < layout.n_groups(); ++g) {
    if (layout.groups[g].kind == AttnKind::window)
      from = std::min(from, layout.live_from(g, node->depth * layout.block_tokens));
  }
  for (PrefixNode* n = node; n->parent && n->depth > from; n = n->parent) {
    n->window_used = tick_;
    if (n->window.linked) link<&PrefixNode::window, &PrefixNode::window_used>(windows_, n);
  }
}

// ---- eviction ----

bool PrefixCache::has_idle_window(const PrefixNode& node) const {
  for (uint32_t g = 0; g < node.blocks.size(); ++g) {
    if (pool_.layout().groups[g].kind == AttnKind::window && node.blocks[g] != kZeroBlock &&
        LLMRT_PLANT(evict_in_use, pool_.idle(node.blocks[g]), true))
      return true;
  }
  return false;
}

void PrefixCache::drop_window(PrefixNode* node) {
  bool some_left = false;
  for (uint32_t g = 0; g < node->blocks.size(); ++g) {
    BlockId& b = node->blocks[g];
    if (pool_.layout().groups[g].kind != AttnKind::window || b == kZeroBlock) continue;
    if (LLMRT_PLANT(evict_in_use, !pool_.idle(b), false)) {
      some_left = true;
      continue;
    }
    pool_.unpublish(b);
    if (LLMRT_PLANT(evict_in_use, false, pool_.refs(b) > 0)) pool_.drop_ref(b);
    b = kZeroBlock;
  }
  if (!some_left) unlink<&PrefixNode::window>(windows_, node);
}

void PrefixCache::remove_leaf(PrefixNode* node) {
  for (BlockId b : node->blocks) {
    if (b == kZeroBlock) continue;
    pool_.unpublish(b);
  }
  unlink<&PrefixNode::leaf>(leaves_, node);
  unlink<&PrefixNode::window>(windows_, node);
  PrefixNode* parent = node->parent;
  parent->used = std::max(parent->used, node->used);
  parent->kids.erase(node);
  store_.give(node);
  --n_nodes_;
  if (!parent->kids.empty()) return;
  if (parent->parent)
    link<&PrefixNode::leaf, &PrefixNode::used>(leaves_, parent);
  else
    remove_empty_root(parent);
}

PrefixNode* PrefixCache::oldest_leaf() const {
  PrefixNode* leaf = leaves_.first;
  while (leaf && leaf->pins > 0) leaf = leaf->leaf.next;
  return leaf;
}

uint32_t PrefixCache::evict(uint32_t n) {
  const uint32_t free_before = pool_.n_free();
  while (pool_.n_free() - free_before < n) {
    PrefixNode* window = windows_.first;
    while (window && !has_idle_window(*window)) window = window->window.next;
    PrefixNode* leaf = oldest_leaf();
    if (!window && !leaf) break;
    if (window && (!leaf || window->window_used <= leaf->used))
      drop_window(window);
    else
      remove_leaf(leaf);
  }
  n_evicted_ += pool_.n_free() - free_before;
  return pool_.n_free() - free_before;
}

}  // namespace llmrt
