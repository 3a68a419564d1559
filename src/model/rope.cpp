#include "model/rope.h"

#include <algorithm>
#include <cmath>

#include "base/in_quotes.h"
#include "base/math.h"

namespace llmrt {
namespace {

constexpr double kTwoPi = 6.28318530717958647692;

// The pair that turns `turns` times within n_ctx_orig positions.
double pair_of_turns(double turns, uint32_t d_rot, double base, double n_ctx_orig) {
  return d_rot * log_f64(n_ctx_orig / (turns * kTwoPi)) / (2 * log_f64(base));
}

}  // namespace

RopeScaling read_rope_scaling(const KeyReader& keys, uint32_t n_ctx_train) {
  constexpr double kMaxFactor = 1e6;
  RopeScaling scaling;
  const double old_factor = keys.number_or("rope.scale_linear", 1, 1e-3, kMaxFactor);
  scaling.factor = keys.number_or("rope.scaling.factor", old_factor, 1e-3, kMaxFactor);
  const std::string type = keys.text_or("rope.scaling.type", "linear");
  if (type == "none" || scaling.factor == 1) {
    scaling = RopeScaling();
  }
  if (type == "linear" && scaling.factor != 1) {
    scaling.kind = RopeScaling::Kind::linear;
  } else if (type == "yarn") {
    scaling.kind = RopeScaling::Kind::yarn;
    scaling.n_ctx_orig =
        keys.count_or("rope.scaling.original_context_length", n_ctx_train, 1, 1u << 30);
    scaling.beta_fast = keys.number_or("rope.scaling.yarn_beta_fast", 32, 1e-3, 1e6);
    scaling.beta_slow = keys.number_or("rope.scaling.yarn_beta_slow", 1, 1e-3, 1e6);
    scaling.ext_factor = keys.number_or("rope.scaling.yarn_ext_factor", 1, 0, 1);
    const double attn_factor = keys.number_or("rope.scaling.attn_factor", 1, 1e-3, 1e3);
    scaling.attn_factor = keys.number_or("rope.scaling.yarn_attn_factor", attn_factor, 1e-3, 1e3);
  } else if (type != "none" && type != "linear") {
    const std::string name = keys.full("rope.scaling.type");
    keys.first_error().keep(error(Code::unsupported,
                                  "metadata key %s is %s, supported are none, linear and yarn",
                                  in_quotes(name).c_str(), in_quotes(type, 40).c_str())
                                .at(name));
  }
  return scaling;
}

RopeTable make_rope_table(RopePairs pairs, uint32_t d_rot, double base, const RopeScaling& scaling,
                          std::span<const float> divisors) {
  RopeTable table;
  table.pairs = pairs;
  table.inv_freq.resize(d_rot / 2);
  double low = 0, high = 0;
  if (scaling.kind == RopeScaling::Kind::yarn) {
    low = std::floor(pair_of_turns(scaling.beta_fast, d_rot, base, scaling.n_ctx_orig));
    high = std::ceil(pair_of_turns(scaling.beta_slow, d_rot, base, scaling.n_ctx_orig));
    low = std::max(low, 0.0);
    high = std::min(high, d_rot - 1.0);
    if (high - low < 0.001) high = low + 0.001;
    // As the two peers: transformers takes 1 for a factor up to 1, ggml's rope_yarn scales only where it extrapolates.
    const bool scales = scaling.ext_factor != 0 && scaling.factor > 1;
    table.mscale = static_cast<float>(scaling.attn_factor *
                                      (scales ? 1 + 0.1 * log_f64(scaling.factor) : 1.0));
  }
  for (uint32_t j = 0; j < d_rot / 2; ++j) {
    double f = pow_f64(base, -2.0 * j / d_rot);
    if (!divisors.empty()) f /= static_cast<double>(divisors[j]);
    if (scaling.kind == RopeScaling::Kind::linear) f /= scaling.factor;
    if (scaling.kind == RopeScaling::Kind::yarn) {
      const double ramp = std::clamp((j - low) / (high - low), 0.0, 1.0);
      const double own = scaling.ext_factor * (1 - ramp);
      f = f / scaling.factor * (1 - own) + f * own;
    }
    table.inv_freq[j] = f;
  }
  return table;
}

}  // namespace llmrt
