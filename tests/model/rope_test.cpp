#include "model/rope.h"

#include <cfenv>
#include <cmath>
#include <utility>

#include "model/model_kit.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

RopeTable table_of(TinyModel model) {
  auto def = model.define();
  if (!def.ok()) FAIL(std::string(def.status().message()));
  REQUIRE(def.value().program.rope_tables.size() == 1);
  return def.value().program.rope_tables[0];
}

}  // namespace

TEST_CASE("plain frequencies are powers of the base") {
  const RopeTable table = make_rope_table(RopePairs::halves, 64, 500000, {}, {});
  REQUIRE(table.inv_freq.size() == 32);
  for (int j = 0; j < 32; ++j)
    CHECK(table.inv_freq[j] == doctest::Approx(std::pow(500000.0, -j / 32.0)).epsilon(1e-14));
  CHECK(table.mscale == 1.0f);
}

TEST_CASE("linear scaling divides positions, by the new keys and by the old one") {
  TinyModel plain, linear, untyped, old_key, none;
  linear.texts["llama.rope.scaling.type"] = "linear";
  linear.numbers["llama.rope.scaling.factor"] = untyped.numbers["llama.rope.scaling.factor"] = 4;
  old_key.numbers["llama.rope.scale_linear"] = 4;
  none.texts["llama.rope.scaling.type"] = "none";
  none.numbers["llama.rope.scaling.factor"] = 4;
  for (size_t j = 0; j < 4; ++j)
    CHECK(table_of(linear).inv_freq[j] == table_of(plain).inv_freq[j] / 4);
  CHECK(table_of(untyped) == table_of(linear));
  CHECK(table_of(old_key) == table_of(linear));
  CHECK(table_of(none) == table_of(plain));
}

TEST_CASE("rope_freqs divide the frequencies one by one") {
  TinyModel plain, model;
  model.tensors["rope_freqs.weight"].dims = {4};
  model.values["rope_freqs.weight"] = {1, 2, 4, 8};
  for (size_t j = 0; j < 4; ++j)
    CHECK(table_of(model).inv_freq[j] == table_of(plain).inv_freq[j] / std::pow(2.0, j));
}

TEST_CASE("yarn keeps fast pairs, divides slow ones and scales cos and sin") {
  RopeScaling yarn{.kind = RopeScaling::Kind::yarn, .factor = 4, .n_ctx_orig = 64};
  const RopeTable table = make_rope_table(RopePairs::halves, 64, 10000, yarn, {});
  const RopeTable plain = make_rope_table(RopePairs::halves, 64, 10000, {}, {});
  // Pairs that turn 32 and 1 times in 64 positions: -4.0 and 8.07, so low = 0 and high = 9.
  CHECK(table.inv_freq[0] == plain.inv_freq[0]);
  for (size_t j = 9; j < 32; ++j) CHECK(table.inv_freq[j] == plain.inv_freq[j] / 4);
  for (size_t j = 1; j < 9; ++j) {
    const double ramp = static_cast<double>(j) / 9;
    CHECK(table.inv_freq[j] ==
          doctest::Approx(plain.inv_freq[j] * (1 - ramp + ramp / 4)).epsilon(1e-14));
  }
  CHECK(table.mscale == doctest::Approx(0.1 * std::log(4.0) + 1));
  yarn.attn_factor = 0.5;
  CHECK(make_rope_table(RopePairs::halves, 64, 10000, yarn, {}).mscale ==
        doctest::Approx(0.5 * (0.1 * std::log(4.0) + 1)));
  yarn.ext_factor =
      0;  // no extrapolation: linear scaling of every pair, and cos and sin as they are
  const RopeTable linear = make_rope_table(RopePairs::halves, 64, 10000, yarn, {});
  CHECK(linear.inv_freq[0] == plain.inv_freq[0] / 4);
  CHECK(linear.mscale == 0.5f);
  yarn.ext_factor = 1;
  for (const double factor : {0.25, 1.0}) {  // nothing is stretched: transformers' get_mscale is 1
    yarn.factor = factor;
    CHECK(make_rope_table(RopePairs::halves, 64, 10000, yarn, {}).mscale == 0.5f);
  }
}

// A lower bound above 0, as real long-context models have it: Qwen2.5's head width and base over its 32768 positions. The numbers are
// transformers' formulas (_compute_yarn_parameters) in decimal arithmetic of 40 digits:
//   dim(r) = 128 ln(32768 / (2 pi r)) / (2 ln 1e6);   dim(32) = 23.596, dim(1) = 39.651;   ramp from 23 to 40
TEST_CASE("yarn's ramp begins at the pair that turns beta_fast times") {
  const RopeScaling yarn{.kind = RopeScaling::Kind::yarn, .factor = 4, .n_ctx_orig = 32768};
  const RopeTable table = make_rope_table(RopePairs::halves, 128, 1e6, yarn, {});
  const std::pair<size_t, double> want[] = {{0, 1},
                                            {22, 0.0086596432336006543},
                                            {23, 0.0069783058485986633},
                                            {24, 0.0053753214907901019},
                                            {30, 0.0010643609812470017},
                                            {39, 6.4903943208370293e-05},
                                            {40, 4.4456985250973067e-05},
                                            {63, 3.1023444018792988e-07}};
  for (const auto& [j, f] : want) {
    CAPTURE(j);
    CHECK(table.inv_freq[j] == doctest::Approx(f).epsilon(1e-14));
  }
}

TEST_CASE("a rotary table has the same bits whatever the host's rounding mode") {
  TinyModel model;
  model.texts["llama.rope.scaling.type"] = "yarn";
  model.numbers["llama.rope.scaling.factor"] = 3;
  model.numbers["llama.rope.freq_base"] = 31415;
  const RopeTable want = table_of(model);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    const RopeTable got = table_of(model);
    REQUIRE(std::fesetround(FE_TONEAREST) == 0);
    CHECK(got == want);
  }
}
