// AVX2, Q8_0. code + 128 = 16 high + low, both at most 15, so 16 products fit int16 as with 4-bit codes: no sign trick, no widening per
// step. I = 16 sum(high q) + sum(low q) - 128 S.

struct alignas(64) Expanded32Nibbles {
  uint8_t low[64][64], high[64][64];  // low and high nibbles of code + 128
  __m256 d[8][2];
};

struct B32Nibbles {
  using At = Panel32<8, false>;
  static constexpr uint32_t kBytes = 8 * At::kBytes;
  using Expanded = Expanded32Nibbles;

  static void split(const uint8_t* line, __m256i& low, __m256i& high) {
    const __m256i v = _mm256_xor_si256(load256(line), _mm256_set1_epi8(static_cast<char>(0x80)));
    low = low4(v);
    high = high4(v);
  }

  static void expand(const uint8_t* sb, uint32_t n, Expanded& e) {
    for (uint32_t w = 0; w < n * 8; ++w)
      for (uint32_t h = 0; h < 2; ++h) {
        __m256i low, high;
        split(sb + w * 64 + h * 32, low, high);
        _mm256_store_si256(reinterpret_cast<__m256i*>(e.low[w] + h * 32), low);
        _mm256_store_si256(reinterpret_cast<__m256i*>(e.high[w] + h * 32), high);
      }
    for (uint32_t j = 0; j < n; ++j)
      for (uint32_t h = 0; h < 2; ++h) e.d[j][h] = half_scales(sb + n * At::kDAt + j * 32 + h * 16);
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         __m256 (*acc)[2]) {
    const uint32_t left = (a.k - b * 256) / 32, n = left < 8 ? left : 8;
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    const __m256i ones = _mm256_set1_epi16(1), sixteens = _mm256_set1_epi16(16);
    for (uint32_t j = 0; j < n; ++j) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, j);
#pragma GCC unroll 1
      for (uint32_t h = 0; h < 2; ++h) {  // one half at a time: 2 R accumulators
        __m256i low_sum[R], high_sum[R];
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) low_sum[i] = high_sum[i] = _mm256_setzero_si256();
#pragma GCC unroll 2
        for (uint32_t w = 0; w < 8; ++w) {
          __m256i low, high;
          if constexpr (kExpanded) {
            low = load256(e->low[j * 8 + w] + h * 32);
            high = load256(e->high[j * 8 + w] + h * 32);
          } else {
            const uint8_t* line = sb + (j * 8 + w) * 64 + h * 32;
            split(line, low, high);
          }
#pragma GCC unroll 4
          for (int i = 0; i < R; ++i) {
            const __m256i q = broadcast4(in.q[i] + b * 256 + j * 32 + w * 4);
            multiply_add(low_sum[i], low, q);
            multiply_add(high_sum[i], high, q);
          }
        }
        const __m256 d = kExpanded ? e->d[j][h] : half_scales(sb + n * At::kDAt + j * 32 + h * 16);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
          const __m256i dot = _mm256_add_epi32(_mm256_madd_epi16(low_sum[i], ones),
                                               _mm256_madd_epi16(high_sum[i], sixteens));
          const __m256 s = _mm256_broadcast_ss(in.sum_f32(a, i) + b * 8 + j);
          const __m256 value = _mm256_fnmadd_ps(_mm256_set1_ps(128.0f), s, _mm256_cvtepi32_ps(dot));
          const __m256 dx = _mm256_broadcast_ss(in.dx(a, i) + b * 8 + j);
          acc[i][h] = _mm256_fmadd_ps(_mm256_mul_ps(d, dx), value, acc[i][h]);
        }
      }
    }
  }
};
