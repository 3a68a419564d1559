// AVX2 and wider: what 16 rows of codes have one after another, side by side: lines of [16 rows][4 k], as panels of packed types have them.

// Word w of 8 rows, row_bytes apart: 8 words of 4 bytes in, 8 vectors of one word out.
inline void transpose_words(const void* rows, size_t row_bytes, __m256i* out) {
  const auto* p = static_cast<const uint8_t*>(rows);
  __m256i two[8], four[8];
#pragma GCC unroll 4
  for (uint32_t r = 0; r < 8; r += 2) {
    const __m256i a = load_row_bytes(p + r * row_bytes),
                  b = load_row_bytes(p + (r + 1) * row_bytes);
    two[r] = _mm256_unpacklo_epi32(a, b);  // words 0, 1 | 4, 5 of two rows
    two[r + 1] = _mm256_unpackhi_epi32(a, b);
  }
#pragma GCC unroll 2
  for (uint32_t r = 0; r < 8; r += 4)
#pragma GCC unroll 2
    for (uint32_t w = 0; w < 2; ++w) {  // word 2w | 2w + 4, then 2w + 1 | 2w + 5, of four rows
      four[r + 2 * w] = _mm256_unpacklo_epi64(two[r + w], two[r + 2 + w]);
      four[r + 2 * w + 1] = _mm256_unpackhi_epi64(two[r + w], two[r + 2 + w]);
    }
#pragma GCC unroll 4
  for (uint32_t w = 0; w < 4; ++w) {
    out[w] = _mm256_permute2x128_si256(four[w], four[w + 4], 0x20);
    out[w + 4] = _mm256_permute2x128_si256(four[w], four[w + 4], 0x31);
  }
}

// Codes of 16 rows, of n_blocks blocks of 32, as lines of [16 rows][4 k]; kFlipped: bits turned over, 0x80 adds 128.
template <int kFlipped>
inline void lines_of_codes(const RowCodes* rows, uint32_t n_blocks, uint8_t (*lines)[64]) {
  const __m256i flipped = _mm256_set1_epi8(static_cast<char>(kFlipped));
  for (uint32_t h = 0; h < 2; ++h)
    for (uint32_t j = 0; j < n_blocks; ++j) {
      __m256i words[8];
      transpose_words(rows[8 * h].code + 32 * j, sizeof(RowCodes), words);
#pragma GCC unroll 8
      for (uint32_t w = 0; w < 8; ++w)
        _mm256_store_si256(reinterpret_cast<__m256i*>(lines[8 * j + w] + 32 * h),
                           _mm256_xor_si256(words[w], flipped));
    }
}
