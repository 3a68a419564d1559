#include "sampling/mass.h"

#include "base/math.h"

namespace llmrt {
namespace {

// x = n ln2 + r, |r| <= ln2 / 2 and n kLn2Hi exact; degree 6 polynomial (Cephes' expf).
inline float exp_inline(float x) {
  constexpr float kMagic = 0x1.8p23f, kLog2e = 1.44269504f, kLn2Hi = 0.693359375f,
                  kLn2Lo = -2.12194440e-4f, kLowest = -87.0f;
  const float clamped = select_f32(x < kLowest, kLowest, x);
  const float t = clamped * kLog2e + kMagic;
  const float n = t - kMagic;
  const float r = (clamped - n * kLn2Hi) - n * kLn2Lo;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = (p * (r * r) + r) + 1.0f;
  // The low bits of t hold n in two's complement; n is in [-126, 0].
  const float scaled = p * float_from_bits((float_bits(t) << 23) + 0x3f800000u);
  return select_f32(x < kLowest, 0.0f, scaled);
}

void block_masses(const float* logits, size_t n, float max, uint64_t* out) {
  float e[kMassBlock];
  for (size_t i = 0; i < n; ++i) e[i] = exp_inline(logits[i] - max) * kMassOne;
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<uint64_t>(static_cast<int64_t>(e[i]));
}

}  // namespace

float exp_below_zero(float x) { return exp_inline(x); }

float max_logit(const Candidates& candidates) {
  const auto& items = candidates.items;
  if (candidates.sorted) return items.front().logit;
  return std::max_element(items.begin(), items.end(),
                          [](const Candidate& a, const Candidate& b) { return a.logit < b.logit; })
      ->logit;
}

void masses(std::span<const Candidate> items, float max, uint64_t* out) {
  float logits[kMassBlock];
  for (size_t begin = 0; begin < items.size(); begin += kMassBlock) {
    const size_t n = std::min(kMassBlock, items.size() - begin);
    for (size_t i = 0; i < n; ++i) logits[i] = items[begin + i].logit;
    block_masses(logits, n, max, out + begin);
  }
}

uint64_t total_mass(std::span<const Candidate> items, float max) {
  uint64_t block[kMassBlock];
  uint64_t sum = 0;
  for (size_t begin = 0; begin < items.size(); begin += kMassBlock) {
    const size_t n = std::min(kMassBlock, items.size() - begin);
    masses(items.subspan(begin, n), max, block);
    for (size_t i = 0; i < n; ++i) sum += block[i];
  }
  return sum;
}

uint64_t total_mass(std::span<const float> row, float max) {
  uint64_t block[kMassBlock];
  uint64_t sum = 0;
  for (size_t begin = 0; begin < row.size(); begin += kMassBlock) {
    const size_t n = std::min(kMassBlock, row.size() - begin);
    block_masses(row.data() + begin, n, max, block);
    for (size_t i = 0; i < n; ++i) sum += block[i];
  }
  return sum;
}

}  // namespace llmrt
