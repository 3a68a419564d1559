// F: 16 floats in one 512-bit register. See simd/scalar.h for the meaning of each name.
struct F {
  __m512 a;
};

inline F zero() { return {_mm512_setzero_ps()}; }
inline F set1(float x) { return {_mm512_set1_ps(x)}; }
inline F load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline F load_int32(const int32_t* p) { return {_mm512_cvtepi32_ps(_mm512_loadu_si512(p))}; }
inline void store(float* p, const F& x) { _mm512_storeu_ps(p, x.a); }
inline F add(const F& x, const F& y) { return {_mm512_add_ps(x.a, y.a)}; }
inline F mul(const F& x, const F& y) { return {_mm512_mul_ps(x.a, y.a)}; }
inline F fma(const F& x, const F& y, const F& z) { return {_mm512_fmadd_ps(x.a, y.a, z.a)}; }
inline F greater(const F& x, const F& y) { return {_mm512_max_ps(x.a, y.a)}; }
inline void fma_each(const F& x, const float* p, F& acc) { acc = fma(x, set1(*p), acc); }
inline void mul_add_each(const F& x, const float* p, F& acc) { fma_each(x, p, acc); }

inline F load_f16(const uint8_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline void load_bf16_pairs(const uint8_t* line, F& even, F& odd) {
  const __m512i x = _mm512_loadu_si512(line);
  even.a = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
  odd.a =
      _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}
inline void load_f16_pairs(const uint8_t* line, F& even, F& odd) {
  const __m512i x = _mm512_loadu_si512(line);
  even.a = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x));  // truncates to the lower half
  odd.a = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(x, 16)));
}
inline float sum(const F& x) {
  const __m256 upper = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x.a), 1));
  const __m256 t8 = _mm256_add_ps(_mm512_castps512_ps256(x.a), upper);
  const __m128 t4 = _mm_add_ps(_mm256_castps256_ps128(t8), _mm256_extractf128_ps(t8, 1));
  const __m128 t2 = _mm_add_ps(t4, _mm_movehl_ps(t4, t4));
  return _mm_cvtss_f32(_mm_add_ss(t2, _mm_movehdup_ps(t2)));
}

inline constexpr uint32_t kSuperblocksAhead = 3;  // that weights are asked for
inline constexpr int kAttendRowsAtOnce = 8;
inline constexpr int kAttendRowsSideBySide = 8;  // 16 accumulators of 32 registers
inline constexpr int kFloatRowsAtOnce = 12;      // 12 accumulators: latency 4 x 2 pipes
