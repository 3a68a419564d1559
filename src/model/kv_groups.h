// Deals a model's layers into KV groups of equal size, so that one pool of equal blocks serves all of them.
//
//   layers of one kind: same window (0 = full) and geometry;  g = gcd over kinds of their number of layers
//   each kind's layers, in order, are cut into groups of g layers                 (Gemma3 270M: 15 window + 3 full -> six of 3)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/program.h"

namespace llmrt {

struct LayerGroups {
  std::vector<KvGroup> groups;
  std::vector<KvLayer> layers;  // by model layer
};

// windows[i]: window of layer i, 0 = full. All layers have the geometry of `heads` (n_kv_head, d_k, d_v).
LayerGroups deal_kv_groups(std::span<const uint32_t> windows, const KvGroup& heads);

}  // namespace llmrt
