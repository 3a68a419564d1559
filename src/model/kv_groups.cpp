#include "model/kv_groups.h"

#include <map>
#include <numeric>

namespace llmrt {

LayerGroups deal_kv_groups(std::span<const uint32_t> windows, const KvGroup& heads) {
  std::map<uint32_t, uint32_t> n_layers;  // by window
  for (uint32_t window : windows) ++n_layers[window];
  uint32_t group_size = 0;
  for (const auto& [window, n] : n_layers) group_size = std::gcd(group_size, n);

  LayerGroups out;
  std::map<uint32_t, KvLayer> next;  // by window: where its next layer goes
  for (uint32_t window : windows) {
    KvLayer& place = next.try_emplace(window, KvLayer{0, group_size}).first->second;
    if (place.index_in_group == group_size) {
      KvGroup group = heads;
      group.kind = window ? AttnKind::window : AttnKind::full;
      group.window = window;
      group.n_layers = group_size;
      place = {static_cast<uint32_t>(out.groups.size()), 0};
      out.groups.push_back(group);
    }
    out.layers.push_back(place);
    ++place.index_in_group;
  }
  return out;
}

}  // namespace llmrt
