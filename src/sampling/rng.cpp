#include "sampling/rng.h"

#include <algorithm>

#include "base/math.h"
#include "sampling/chain.h"

namespace llmrt {

PhiloxCounter philox4x32(PhiloxCounter c, uint64_t key) {
  constexpr uint64_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;
  constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = kMul0 * c[0], p1 = kMul1 * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

float uniform(uint64_t seed, uint32_t position, RandomStream stream, uint32_t token) {
  const PhiloxCounter c = philox4x32({token, position, static_cast<uint32_t>(stream), 0}, seed);
  const uint64_t bits = (uint64_t{c[1]} << 32) | c[0];
  const float v = static_cast<float>(static_cast<int64_t>(bits >> 1) | 1) * 0x1p-63f;
  return std::min(v, 0x1.fffffep-1f);  // rounding up to 1 would make the noise -inf
}

float gumbel_from_uniform(float v) {
  // -log(1 - v) to a few ulp for any v: the rounding error of u = 1 - v cancels in log(u) / (1 - u) (Kahan's log1p).
  const float u = 1.0f - v;
  const float exponential = u == 1.0f ? v : log_f32(u) * (v / (u - 1.0f));
  return -log_f32(exponential);
}

// SplitMix64's finaliser: a bijection.
static uint64_t finalise(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

uint64_t mix_seed(uint64_t seed, uint32_t sample) {
  return finalise(finalise(seed + 0x9E3779B97F4A7C15u) + sample);
}

}  // namespace llmrt
