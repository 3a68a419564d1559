// Included inside a namespace by row_kernels.cpp and isa/row_kernels_avx2.cpp, which say what Lanes are and how they multiply:
//
//   Lanes           64-bit lanes, each with a word of 32 bits in its lower half; what is in the upper half is never read
//   times(a, b)     lane by lane the 64-bit product of the lower halves of a and b

namespace {

// philox4x32 (rng.cpp), some vectors side by side: rounds of one wait for each other.
constexpr size_t kLanes = sizeof(Lanes) / sizeof(uint64_t);
constexpr size_t kVectors = 2;
constexpr size_t kAtOnce = kVectors * kLanes;

void draw_words(uint64_t seed, uint32_t position, uint32_t stream, const uint32_t* ids, size_t n,
                uint32_t* words) {
  constexpr uint64_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;
  constexpr uint64_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  const Lanes mul0 = Lanes{} + kMul0, mul1 = Lanes{} + kMul1;
  uint32_t tail[kAtOnce] = {};
  for (size_t at = 0; at < n; at += kAtOnce) {
    const bool whole = n - at >= kAtOnce;
    for (size_t i = at; !whole && i < n; ++i) tail[i - at] = ids[i];
    const uint32_t* from = whole ? ids + at : tail;
    uint32_t* to = whole ? words + at : tail;

    Lanes c0[kVectors], c1[kVectors], c2[kVectors], c3[kVectors];
    for (size_t v = 0; v < kVectors; ++v) {
      uint64_t wide[kLanes];
      for (size_t i = 0; i < kLanes; ++i) wide[i] = from[v * kLanes + i];
      __builtin_memcpy(&c0[v], wide, sizeof(Lanes));
      c1[v] = Lanes{} + position;
      c2[v] = Lanes{} + stream;
      c3[v] = Lanes{};
    }
    uint64_t k0 = seed, k1 = seed >> 32;  // words in lower halves, as the lanes have them
    for (int round = 0; round < 10; ++round) {
      for (size_t v = 0; v < kVectors; ++v) {
        const Lanes p0 = times(c0[v], mul0), p1 = times(c2[v], mul1);
        c0[v] = (p1 >> 32) ^ c1[v] ^ k0;
        c1[v] = p1;
        c2[v] = (p0 >> 32) ^ c3[v] ^ k1;
        c3[v] = p0;
      }
      k0 += kWeyl0;
      k1 += kWeyl1;
    }
    for (size_t v = 0; v < kVectors; ++v)
      for (size_t i = 0; i < kLanes; ++i) to[v * kLanes + i] = static_cast<uint32_t>(c1[v][i]);
    for (size_t i = at; !whole && i < n; ++i) words[i] = tail[i - at];
  }
}

// A mass is an integer below 2^41 that a float holds to 24 bits: two halves of 20 bits, and a sum of 256 of either fits 32 bits. No
// vector unit before AVX-512 makes 64-bit integers of floats.
uint64_t total_mass(const float* logits, size_t n, float max) {
  constexpr size_t kSummed = 256;
  constexpr float kHalf = 0x1p20f;
  uint64_t sum = 0;
  for (size_t begin = 0; begin < n; begin += kSummed) {
    const float* x = logits + begin;
    const size_t end = n - begin < kSummed ? n - begin : kSummed;
    int32_t high_sum = 0, low_sum = 0;
    for (size_t i = 0; i < end; ++i) {
      const float e = exp_below_zero(x[i] - max) * kMassOne;
      const auto high = static_cast<int32_t>(e * (1 / kHalf));
      // exact: both are multiples of e's last bit, and their difference is smaller than e
      const auto low = static_cast<int32_t>(e - static_cast<float>(high) * kHalf);
      high_sum += high;
      low_sum += low;
    }
    sum += (static_cast<uint64_t>(high_sum) << 20) + static_cast<uint64_t>(low_sum);
  }
  return sum;
}

}  // namespace

const RowKernels kKernels = {draw_words, total_mass};
