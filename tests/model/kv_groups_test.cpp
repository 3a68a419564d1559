#include "model/kv_groups.h"

#include <doctest/doctest.h>

using namespace llmrt;

namespace {

const KvGroup kHeads{.n_kv_head = 2, .d_k = 16, .d_v = 8};

// Every layer has its place, no place twice, groups are full, of one window and of equal size.
LayerGroups checked(const std::vector<uint32_t>& windows) {
  const LayerGroups layout = deal_kv_groups(windows, kHeads);
  REQUIRE(layout.layers.size() == windows.size());
  std::vector<std::vector<bool>> taken(layout.groups.size());
  for (size_t g = 0; g < taken.size(); ++g) taken[g].resize(layout.groups[g].n_layers);
  for (size_t i = 0; i < windows.size(); ++i) {
    const KvLayer& place = layout.layers[i];
    REQUIRE(place.group < layout.groups.size());
    const KvGroup& group = layout.groups[place.group];
    REQUIRE(place.index_in_group < group.n_layers);
    REQUIRE(!taken[place.group][place.index_in_group]);
    taken[place.group][place.index_in_group] = true;
    CHECK(group.window == windows[i]);
    CHECK((group.kind == AttnKind::window) == (windows[i] > 0));
    CHECK(group.n_layers == layout.groups[0].n_layers);
    CHECK(group.d_v == 8);
  }
  return layout;
}

std::vector<uint32_t> gemma(uint32_t n_layer) {
  std::vector<uint32_t> windows(n_layer, 512);
  for (uint32_t i = 5; i < n_layer; i += 6) windows[i] = 0;
  return windows;
}

}  // namespace

TEST_CASE("layers of one kind are one group") {
  CHECK(checked(std::vector<uint32_t>(30, 0)).groups.size() == 1);
  CHECK(checked(std::vector<uint32_t>(3, 24)).groups.size() == 1);
}

TEST_CASE("kinds are dealt into groups of their common divisor") {
  CHECK(checked(gemma(18)).groups.size() == 6);   // 15 + 3, groups of 3
  CHECK(checked(gemma(26)).groups.size() == 13);  // 22 + 4, groups of 2
  CHECK(checked(gemma(7)).groups.size() == 7);    // 6 + 1
  CHECK(checked({8, 0, 8, 0}).groups.size() == 2);
  CHECK(checked({8, 0, 16}).groups.size() == 3);
}
