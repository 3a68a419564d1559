// F: 16 floats in two 256-bit registers (AVX2, FMA, F16C). See simd/scalar.h for the meaning of each name.
struct F {
  __m256 a, b;
};

inline F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline F set1(float x) {
  const __m256 v = _mm256_set1_ps(x);
  return {v, v};
}
inline F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline F load_int32(const int32_t* p) {
  const auto* v = reinterpret_cast<const __m256i*>(p);
  return {_mm256_cvtepi32_ps(_mm256_loadu_si256(v)), _mm256_cvtepi32_ps(_mm256_loadu_si256(v + 1))};
}
inline void store(float* p, const F& x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
inline F add(const F& x, const F& y) { return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)}; }
inline F mul(const F& x, const F& y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
inline F fma(const F& x, const F& y, const F& z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
// x > y ? x : y in each lane: y where they do not compare.
inline F greater(const F& x, const F& y) {
  return {_mm256_max_ps(x.a, y.a), _mm256_max_ps(x.b, y.b)};
}
// acc = fma(x, *p, acc). In assembly because GCC 12, free to reorder, keeps the lines and broadcasts of several steps alive and spills
// accumulators.
inline void fma_each(const F& x, const float* p, F& acc) {
  __m256 t;
  __asm__(
      "vbroadcastss %[p], %[t]\n\tvfmadd231ps %[t], %[xa], %[a]\n\tvfmadd231ps %[t], %[xb], %[b]"
      : [a] "+x"(acc.a), [b] "+x"(acc.b), [t] "=&x"(t)
      : [xa] "x"(x.a), [xb] "x"(x.b), [p] "m"(*p));
}
inline void mul_add_each(const F& x, const float* p, F& acc) { fma_each(x, p, acc); }

inline F load_f16(const uint8_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
          _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16)))};
}
inline void load_bf16_pairs(const uint8_t* line, F& even, F& odd) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line));
  const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line + 32));
  const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
  even = {_mm256_castsi256_ps(_mm256_slli_epi32(x, 16)),
          _mm256_castsi256_ps(_mm256_slli_epi32(y, 16))};
  odd = {_mm256_castsi256_ps(_mm256_and_si256(x, high)),
         _mm256_castsi256_ps(_mm256_and_si256(y, high))};
}
inline void load_f16_pairs(const uint8_t* line, F& even, F& odd) {
  const F x = load_f16(line), y = load_f16(line + 32);  // pairs 0-3 | 4-7, 8-11 | 12-15
  const auto pick = [](__m256 v, __m256 w,
                       auto imm) {  // lanes 0 1 4 5 | 2 3 6 7 to ascending order
    const __m256 t = imm == 0 ? _mm256_shuffle_ps(v, w, 0x88) : _mm256_shuffle_ps(v, w, 0xdd);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(t), 0xd8));
  };
  even = {pick(x.a, x.b, 0), pick(y.a, y.b, 0)};
  odd = {pick(x.a, x.b, 1), pick(y.a, y.b, 1)};
}
inline float sum(const F& x) {
  const __m256 t8 = _mm256_add_ps(x.a, x.b);
  const __m128 t4 = _mm_add_ps(_mm256_castps256_ps128(t8), _mm256_extractf128_ps(t8, 1));
  const __m128 t2 = _mm_add_ps(t4, _mm_movehl_ps(t4, t4));
  return _mm_cvtss_f32(_mm_add_ss(t2, _mm_movehdup_ps(t2)));
}

inline constexpr uint32_t kSuperblocksAhead = 1;  // that weights are asked for
inline constexpr int kAttendRowsAtOnce = 6;       // 12 accumulators, a line in 2, a mask: 15 of 16
inline constexpr int kAttendRowsSideBySide = 2;
inline constexpr int kFloatRowsAtOnce = 6;  // 12 accumulators, 2 weights
