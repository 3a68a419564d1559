// Integer dot products of 16 rows of codes with R input rows (kernels/row_dots.inl.h tells the names), AVX2: for all tables of x86-64 but
// the scalar one.
//
// u8 x s8 by vpmaddubsw with the sign moved over: c q = |c| (q with c's sign). Codes and q are within +-127, so a pair of products is at
// most 2 * 127 * 127 = 32258 and fits int16. Times sub-scales within +-32, all of a superblock: 127 * 127 * 256 * 32 < 2^28.
//
// One row of weights at a time, its codes loaded once for R input rows; then 8 rows' partial sums are added up together.

constexpr int kDotRows =
    4;  // 4 sums; codes, magnitudes, sub-scales and what is under way beside them

inline __m256i load_row_bytes(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}

// 16 int16 pair sums.
inline __m256i signed_pairs(__m256i c, __m256i magnitude, const int8_t* q) {
  return _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(load_row_bytes(q), c));
}

// Lane r: the sum of v[r].
inline __m256i sums_of_eight(const __m256i* v) {
  const __m256i first =
      _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
  const __m256i last =
      _mm256_hadd_epi32(_mm256_hadd_epi32(v[4], v[5]), _mm256_hadd_epi32(v[6], v[7]));
  return _mm256_add_epi32(_mm256_permute2x128_si256(first, last, 0x20),
                          _mm256_permute2x128_si256(first, last, 0x31));
}

// [R][8] partial sums of rows r .. r + 7 to their places.
template <int R>
inline void store_eight(const __m256i (*part)[8], uint32_t r, int32_t (*out)[16]) {
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out[i] + r), sums_of_eight(part[i]));
}

// 32 codes are two sub-blocks. Pairs of bytes of the 16 sub-scales, ordered so that the lower lane has the even ones, the upper lane the
// odd ones: pattern j of this picks sub-scale 2j in all of the lower lane, 2j + 1 in all of the upper.
inline __m256i scale_lanes(const int16_t* sub_scale) {
  const __m256i v = load_row_bytes(sub_scale);
  const __m256i split = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,  //
                                         0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(v, split), 0xd8);
}
inline __m256i pick_scale(__m256i lanes, int j) {
  return _mm256_shuffle_epi8(lanes, _mm256_set1_epi16(static_cast<int16_t>(0x0100 + 0x0202 * j)));
}

template <int R>
inline void super_dots(const RowCodes* rows, const int8_t* const* q, int32_t (*out)[16]) {
  for (uint32_t r = 0; r < 16; r += 8) {
    __m256i part[R][8];
    for (uint32_t t = 0; t < 8; ++t) {
      const RowCodes& row = rows[r + t];
      const __m256i lanes = scale_lanes(row.sub_scale);
      __m256i sum[R];
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) sum[i] = _mm256_setzero_si256();
#pragma GCC unroll 8
      for (int j = 0; j < 8; ++j) {
        const __m256i c = load_row_bytes(row.code + 32 * j), magnitude = _mm256_abs_epi8(c),
                      scale = pick_scale(lanes, j);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i)
          sum[i] = _mm256_add_epi32(
              sum[i], _mm256_madd_epi16(signed_pairs(c, magnitude, q[i] + 32 * j), scale));
      }
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) part[i][t] = sum[i];
    }
    store_eight<R>(part, r, out);
  }
}

// S_h of 16 sub-blocks as int16: -1/32 of the two halves of bias32 together.
inline __m256i sub_block_sums(const int16_t* bias) {
  const __m256i ones = _mm256_set1_epi16(1);
  const __m256i low = _mm256_srai_epi32(_mm256_madd_epi16(load_row_bytes(bias), ones), 5);
  const __m256i high = _mm256_srai_epi32(_mm256_madd_epi16(load_row_bytes(bias + 16), ones), 5);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
  return _mm256_sub_epi16(_mm256_setzero_si256(), packed);
}

template <int R>
inline void min_dots(const RowCodes* rows, const int16_t* const* bias, int32_t (*out)[16]) {
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) {
    const __m256i sums = sub_block_sums(bias[i]);
    for (uint32_t r = 0; r < 16; r += 8) {
      __m256i part[1][8];
#pragma GCC unroll 8
      for (uint32_t t = 0; t < 8; ++t)
        part[0][t] = _mm256_madd_epi16(load_row_bytes(rows[r + t].sub_min), sums);
      store_eight<1>(part, r, out + i);
    }
  }
}

template <int R>
inline void block_dots(const RowCodes* rows, uint32_t j, const int8_t* const* q,
                       int32_t (*out)[16]) {
  const __m256i ones = _mm256_set1_epi16(1);
  for (uint32_t r = 0; r < 16; r += 8) {
    __m256i part[R][8];
#pragma GCC unroll 8
    for (uint32_t t = 0; t < 8; ++t) {
      const __m256i c = load_row_bytes(rows[r + t].code + 32 * j), magnitude = _mm256_abs_epi8(c);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i)
        part[i][t] = _mm256_madd_epi16(signed_pairs(c, magnitude, q[i] + 32 * j), ones);
    }
    store_eight<R>(part, r, out);
  }
}
