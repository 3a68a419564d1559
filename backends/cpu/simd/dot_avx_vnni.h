// The names of simd/dot_maddubs.h with AVX-VNNI: vpdpbusd adds four u8 x s8 products per row in int32, exactly.

inline constexpr bool kNarrowSums = false;

// The empty assembly keeps the order of the sums, for the reason that simd/dot_maddubs.h gives.
inline void multiply_add(__m256i& acc, __m256i w, __m256i q) {
  acc = _mm256_dpbusd_avx_epi32(acc, w, q);
  __asm__("" : "+x"(acc));
}

inline __m256i sums_from_pairs(__m256i pairs) {
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}

inline __m256i row_sums(__m256i acc) { return acc; }

inline void unpack_sub_scales(__m128i s, __m256i out[2]) {
  out[0] = _mm256_cvtepi8_epi32(s);
  out[1] = _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(s, s));
}
inline __m256i scaled_sums(__m256i acc, __m256i scale) { return _mm256_mullo_epi32(acc, scale); }
