// AVX2, IQ4_NL with many input rows (kernels/linear_lines.inl.h): as Q8_0 is multiplied once it is expanded, because products of codes up
// to 127 do not join in int16, and those of their nibbles do.

struct Lines32Nibbles {
  using Expanded = Expanded32Nibbles;

  static void expand(const RowCodes* rows, uint32_t n_blocks, Expanded& e) {
    const auto put = [](uint8_t* to, __m256i v) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(to), v);
    };
    for (uint32_t h = 0; h < 2; ++h) {
      __m256i words[8];
      for (uint32_t j = 0; j < n_blocks; ++j) {
        transpose_words(rows[8 * h].code + 32 * j, sizeof(RowCodes), words);
#pragma GCC unroll 8
        for (uint32_t w = 0; w < 8; ++w) {
          const __m256i v = _mm256_xor_si256(words[w], _mm256_set1_epi8(static_cast<char>(0x80)));
          put(e.low[8 * j + w] + 32 * h, low4(v));
          put(e.high[8 * j + w] + 32 * h, high4(v));
        }
      }
      transpose_words(rows[8 * h].d, sizeof(RowCodes), words);
      for (uint32_t j = 0; j < n_blocks; ++j) e.d[j][h] = _mm256_castsi256_ps(words[j]);
    }
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* weights,
                         uint32_t b, __m256 (*acc)[2]) {
    B32Nibbles::superblock<R, true>(a, in, weights, b, acc);
  }
};
