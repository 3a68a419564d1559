// AVX2 and AVX-VNNI: unsigned codes out of P16 lines. A line of 64 bytes is two registers of [8 rows][4 k], called halves.

struct Quads {
  __m256i w[2][2];  // [4 k of the pair][half]
};

inline __m256i load256(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m256i broadcast4(const void* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm256_set1_epi32(v);
}
inline __m256i low4(__m256i v) { return _mm256_and_si256(v, _mm256_set1_epi8(15)); }
inline __m256i high4(__m256i v) { return low4(_mm256_srli_epi16(v, 4)); }

// 4-bit part: one line is 8 k.
inline Quads four_bits(const uint8_t* line) {
  const __m256i a = load256(line), b = load256(line + 32);
  return {{{low4(a), low4(b)}, {high4(a), high4(b)}}};
}

// Bit `from` of every byte, moved to bit `to`.
inline __m256i move_bits(__m256i v, int from, int to, int mask) {
  const __m256i moved =
      from <= to ? _mm256_slli_epi16(v, to - from) : _mm256_srli_epi16(v, from - to);
  return _mm256_and_si256(moved, _mm256_set1_epi8(static_cast<char>(mask)));
}

// 4-bit part with the 1-bit part of the same 32 k; z: which line of the 32.
inline Quads five_bits(const uint8_t* line, const __m256i plane[2], int z) {
  Quads c = four_bits(line);
  for (int h = 0; h < 2; ++h) {
    c.w[0][h] = _mm256_or_si256(c.w[0][h], move_bits(plane[h], 2 * z, 4, 0x10));
    c.w[1][h] = _mm256_or_si256(c.w[1][h], move_bits(plane[h], 2 * z + 1, 4, 0x10));
  }
  return c;
}

// 4-bit part with the 2-bit part of the same 16 k; z: which line of the 16.
inline Quads six_bits(const uint8_t* line, const __m256i plane[2], int z) {
  Quads c = four_bits(line);
  for (int h = 0; h < 2; ++h) {
    c.w[0][h] = _mm256_or_si256(c.w[0][h], move_bits(plane[h], 4 * z, 4, 0x30));
    c.w[1][h] = _mm256_or_si256(c.w[1][h], move_bits(plane[h], 4 * z + 2, 4, 0x30));
  }
  return c;
}

// Codes already as bytes: two lines of 4 k.
inline Quads byte_codes(const uint8_t* lines) {
  return {{{load256(lines), load256(lines + 32)}, {load256(lines + 64), load256(lines + 96)}}};
}
// Signed codes, biased by 128.
inline Quads flipped(Quads c) {
  for (auto& quad : c.w)
    for (__m256i& half : quad)
      half = _mm256_xor_si256(half, _mm256_set1_epi8(static_cast<char>(0x80)));
  return c;
}
inline void store_quads(uint8_t* lines, const Quads& c) {
  for (int q = 0; q < 2; ++q)
    for (int h = 0; h < 2; ++h)
      _mm256_store_si256(reinterpret_cast<__m256i*>(lines + q * 64 + h * 32), c.w[q][h]);
}

// acc[i][h] += codes . q_i over 8 k.
template <int R>
inline void multiply(const Quads& c, const int8_t* const* q, uint32_t k, __m256i (*acc)[2]) {
#pragma GCC unroll 2
  for (uint32_t half_step = 0; half_step < 2; ++half_step)
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const __m256i four = broadcast4(q[i] + k + half_step * 4);
      multiply_add(acc[i][0], c.w[half_step][0], four);
      multiply_add(acc[i][1], c.w[half_step][1], four);
    }
}

template <int R>
inline void clear(__m256i (*acc)[2]) {
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) acc[i][0] = acc[i][1] = _mm256_setzero_si256();
}
template <int R>
inline void clear(__m256 (*acc)[2]) {
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) acc[i][0] = acc[i][1] = _mm256_setzero_ps();
}

// The stripe's sums of R rows join out.
template <int R>
inline void add_stripe(const LinearArgs& a, uint32_t row, const __m256 (*acc)[2]) {
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
    for (int h = 0; h < 2; ++h) {
      float* out = a.out + (row + static_cast<uint32_t>(i)) * 16 + h * 8;
      _mm256_store_ps(out, _mm256_add_ps(_mm256_load_ps(out), acc[i][h]));
    }
}

inline __m256 half_scales(const uint8_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
