// AVX-512 VNNI: unsigned codes out of P16 lines. A line of 64 bytes is one register of [16 rows][4 k]; vpdpbusd adds four u8 x s8 products
// per row in int32, exactly.

inline __m512i load512(const void* p) { return _mm512_loadu_si512(p); }
inline __m512i broadcast4(const void* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm512_set1_epi32(v);
}
inline __m512 broadcast_float(const void* p) {
  float v;
  __builtin_memcpy(&v, p, 4);
  return _mm512_set1_ps(v);
}
inline __m512i low4(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
inline __m512i high4(__m512i v) { return low4(_mm512_srli_epi16(v, 4)); }
inline __m512 half_scales(const uint8_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline __m128i load128(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

// Bit `from` of every byte, moved to bit `to`.
inline __m512i move_bits(__m512i v, int from, int to, int mask) {
  const __m512i moved = from <= to ? _mm512_slli_epi16(v, static_cast<unsigned>(to - from))
                                   : _mm512_srli_epi16(v, static_cast<unsigned>(from - to));
  return _mm512_and_si512(moved, _mm512_set1_epi8(static_cast<char>(mask)));
}

// The codes of 8 k: two registers of 4 k.
struct Quads {
  __m512i w[2];
};
inline Quads four_bits(const uint8_t* line) {
  const __m512i v = load512(line);
  return {{low4(v), high4(v)}};
}
inline Quads five_bits(const uint8_t* line, __m512i plane, int z) {
  Quads c = four_bits(line);
  c.w[0] = _mm512_or_si512(c.w[0], move_bits(plane, 2 * z, 4, 0x10));
  c.w[1] = _mm512_or_si512(c.w[1], move_bits(plane, 2 * z + 1, 4, 0x10));
  return c;
}
inline Quads six_bits(const uint8_t* line, __m512i plane, int z) {
  Quads c = four_bits(line);
  c.w[0] = _mm512_or_si512(c.w[0], move_bits(plane, 4 * z, 4, 0x30));
  c.w[1] = _mm512_or_si512(c.w[1], move_bits(plane, 4 * z + 2, 4, 0x30));
  return c;
}
inline Quads byte_codes(const uint8_t* lines) { return {{load512(lines), load512(lines + 64)}}; }
inline void store_quads(uint8_t* lines, const Quads& c) {
  _mm512_store_si512(lines, c.w[0]);
  _mm512_store_si512(lines + 64, c.w[1]);
}

template <int R>
inline void multiply(const Quads& c, const int8_t* const* q, uint32_t k, __m512i* acc) {
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    acc[i] = _mm512_dpbusd_epi32(acc[i], c.w[0], broadcast4(q[i] + k));
    acc[i] = _mm512_dpbusd_epi32(acc[i], c.w[1], broadcast4(q[i] + k + 4));
  }
}
