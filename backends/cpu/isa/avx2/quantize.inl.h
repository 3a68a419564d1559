// Rounding of activations to bytes (quant/activation.h) by vectors of 256 bits; kernels/quantize.inl.h has it for other sets, and the split.

inline __m256i magnitudes(const float* x) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  return _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
}

// The highest magnitude of n values, a multiple of 32, as bits: integers order NaN and infinity above all.
inline uint32_t highest_magnitude(const float* x, uint32_t n) {
  __m256i most[4];
  for (uint32_t i = 0; i < 4; ++i) most[i] = magnitudes(x + 8 * i);
  for (uint32_t at = 32; at < n; at += 32)
    for (uint32_t i = 0; i < 4; ++i)
      most[i] = _mm256_max_epi32(most[i], magnitudes(x + at + 8 * i));
  const __m256i all =
      _mm256_max_epi32(_mm256_max_epi32(most[0], most[1]), _mm256_max_epi32(most[2], most[3]));
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(m));
}

// 32 values, ties to even.
inline __m256i round_32(const float* x, __m256 inverse) {
  __m256i v[4];
  for (uint32_t i = 0; i < 4; ++i)
    v[i] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), inverse));
  const __m256i bytes =
      _mm256_packs_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// In each half, of its 16 bytes: the sum of those at 0, 1 mod 4 in int16 lanes 0, 2, .., of those at 2, 3 mod 4 in lanes 1, 3, ..
inline __m256i sums_of_pairs(__m256i q) {
  __m256i s = _mm256_maddubs_epi16(_mm256_set1_epi8(1), q);
  s = _mm256_add_epi16(s, _mm256_shuffle_epi32(s, 0x4e));
  return _mm256_add_epi16(s, _mm256_shuffle_epi32(s, 0xb1));
}

void quantize_ymm(const float* x, const ActivationForm& f, uint8_t* row) {
  if (f.group == kSplitGroup) {
    split(x, f, row);
    return;
  }
  for (uint32_t begin = 0, g = 0; begin < f.k; begin += f.group, ++g) {
    const uint32_t amax_bits = highest_magnitude(x + begin, f.group);
    const float amax = float_from_bits(amax_bits);
    const bool bad = amax_bits >= 0x7f800000u, none = bad || amax < 0x1p-118f;
    const float dx = bad ? __builtin_nanf("") : none ? 0.0f : amax / 127.0f;
    __builtin_memcpy(row + f.dx_at + g * sizeof dx, &dx, sizeof dx);
    const __m256 inverse = _mm256_set1_ps(127.0f / amax);
    for (uint32_t at = begin; at < begin + f.group; at += 32) {
      const __m256i q = none ? _mm256_setzero_si256() : round_32(x + at, inverse);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + at), q);
      const __m256i pairs = sums_of_pairs(q);
      const __m256i halves = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
      const int32_t total = _mm256_extract_epi32(halves, 0) + _mm256_extract_epi32(halves, 4);
      const uint32_t block = at / 32;
      if (f.group == 32) {
        const auto sum = static_cast<float>(total);
        __builtin_memcpy(row + f.sum_at + block * sizeof sum, &sum, sizeof sum);
        continue;
      }
      const auto sum = static_cast<int16_t>(total);
      __builtin_memcpy(row + f.sum_at + block * sizeof sum, &sum, sizeof sum);
      // |pairs| <= 8 * 127, times 32 is 32512: fits.
      const __m256i bias = _mm256_mullo_epi16(pairs, _mm256_set1_epi16(-32));
      const __m128i both =
          _mm_unpacklo_epi32(_mm256_castsi256_si128(bias), _mm256_extracti128_si256(bias, 1));
      _mm_storel_epi64(reinterpret_cast<__m128i*>(row + f.bias_at + block * 8), both);
    }
  }
}
