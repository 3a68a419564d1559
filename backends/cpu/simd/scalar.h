// F: 16 floats. The same names in every simd/<isa>.h; the math is in kernels/. No vector instructions: any processor runs this.
// fma is exact everywhere; mul_add_each is what a float32 linear uses, and only here it rounds twice.
struct F {
  float v[16];
};

inline F zero() { return F{}; }
inline F set1(float x) {
  F r;
  for (float& e : r.v) e = x;
  return r;
}
inline F load(const float* p) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = p[i];
  return r;
}
inline F load_int32(const int32_t* p) {  // to the nearest float
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = static_cast<float>(p[i]);
  return r;
}
inline void store(float* p, const F& a) {
  for (int i = 0; i < 16; ++i) p[i] = a.v[i];
}
inline F add(const F& a, const F& b) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] + b.v[i];
  return r;
}
inline F mul(const F& a, const F& b) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] * b.v[i];
  return r;
}
inline F fma(const F& a, const F& b, const F& c) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = __builtin_fmaf(a.v[i], b.v[i], c.v[i]);
  return r;
}
// x > y ? x : y in each lane: y where they do not compare.
inline F greater(const F& a, const F& b) {
  F r;
  for (int i = 0; i < 16; ++i) r.v[i] = a.v[i] > b.v[i] ? a.v[i] : b.v[i];
  return r;
}
// acc = fma(a, *p, acc)
inline void fma_each(const F& a, const float* p, F& acc) { acc = fma(a, set1(*p), acc); }
// The step of a float32 linear: as fma_each, but here rounded twice.
inline void mul_add_each(const F& a, const float* p, F& acc) { acc = add(mul(a, set1(*p)), acc); }

// f16 bits to float by integers (base/half.h, which has external inline functions and so stays outside these files).
inline float half_value(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u, mantissa = h & 0x3ffu;
  if (exponent == 31) return __builtin_bit_cast(float, sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(mantissa) * 0x1p-24f;
    return __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, value) | sign);
  }
  return __builtin_bit_cast(float, sign | ((exponent + 112u) << 23) | (mantissa << 13));
}
inline F load_f16(const uint8_t* p) {
  F r;
  for (int i = 0; i < 16; ++i) {
    uint16_t h;
    __builtin_memcpy(&h, p + 2 * i, 2);
    r.v[i] = half_value(h);
  }
  return r;
}
// A line of 16 pairs of 16-bit floats: the first and the second of each pair.
inline void load_bf16_pairs(const uint8_t* line, F& even, F& odd) {
  for (int i = 0; i < 16; ++i) {
    uint32_t w;
    __builtin_memcpy(&w, line + 4 * i, 4);
    even.v[i] = __builtin_bit_cast(float, w << 16);
    odd.v[i] = __builtin_bit_cast(float, w & 0xffff0000u);
  }
}
inline void load_f16_pairs(const uint8_t* line, F& even, F& odd) {
  for (int i = 0; i < 16; ++i) {
    uint16_t h[2];
    __builtin_memcpy(h, line + 4 * i, 4);
    even.v[i] = half_value(h[0]);
    odd.v[i] = half_value(h[1]);
  }
}
// Halving tree: 16 -> 8 -> 4 -> 2 -> 1, each step adding the upper half to the lower.
inline float sum(const F& a) {
  float t[16];
  for (int i = 0; i < 16; ++i) t[i] = a.v[i];
  for (int half = 8; half; half /= 2)
    for (int i = 0; i < half; ++i) t[i] += t[i + half];
  return t[0];
}

inline constexpr uint32_t kSuperblocksAhead = 1;  // that weights are asked for
inline constexpr int kAttendRowsAtOnce = 2;       // query rows per register tile
inline constexpr int kAttendRowsSideBySide =
    0;  // of these the rows that keep both chains of class b16 at once
inline constexpr int kFloatRowsAtOnce = 4;  // input rows per register tile of float32 linears
