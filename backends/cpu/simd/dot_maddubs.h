// Dot products u8 x s8 for 8 rows, AVX2: codes in a register of [8 rows][4 k], times 4 k of an input in every lane. The sums of a row
// are two int16, of k = 0, 1 and of k = 2, 3 mod 4. The same names in simd/dot_avx_vnni.h, where the sum is one int32.
//
// _mm256_maddubs_epi16 adds two products in int16 and saturates at 32767. Codes here are at most 63 and activations +-127:
// 2 * 63 * 127 = 16002. Sums of several stay exact as long as each int16's true value fits, which each user derives.

inline constexpr bool kNarrowSums = true;  // users may add only so many products

// acc += w . q. In assembly because GCC 12, free to reorder, keeps all broadcasts of a step alive and spills half of the
// accumulators.
inline void multiply_add(__m256i& acc, __m256i w, __m256i q) {
  __m256i product;
  __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
          : "+x"(acc), "=&x"(product)
          : "x"(w), "x"(q));
}

// Where sums begin that start at the int16 pair of bias32 (quant/activation.h), here in every lane.
inline __m256i sums_from_pairs(__m256i pairs) { return pairs; }

// The row's sum as int32.
inline __m256i row_sums(__m256i acc) { return _mm256_madd_epi16(acc, _mm256_set1_epi16(1)); }

// Signed sub-scales of 16 rows as scaled_sums() takes them; it returns the row's sum times its sub-scale as int32.
inline void unpack_sub_scales(__m128i s, __m256i out[2]) {
  out[0] = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(s, s));
  out[1] = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(s, s));
}
inline __m256i scaled_sums(__m256i acc, __m256i scale) { return _mm256_madd_epi16(acc, scale); }
