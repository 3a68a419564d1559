// F: 16 floats in four 128-bit registers (AArch64). See simd/scalar.h for the meaning of each name.
struct F {
  float32x4_t v[4];
};

inline F set1(float x) {
  const float32x4_t s = vdupq_n_f32(x);
  return {{s, s, s, s}};
}
inline F zero() { return set1(0.0f); }
inline F load(const float* p) {
  return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
}
inline F load_int32(const int32_t* p) {
  F r;
  for (int i = 0; i < 4; ++i) r.v[i] = vcvtq_f32_s32(vld1q_s32(p + 4 * i));
  return r;
}
inline void store(float* p, const F& x) {
  for (int i = 0; i < 4; ++i) vst1q_f32(p + 4 * i, x.v[i]);
}
inline F add(const F& x, const F& y) {
  F r;
  for (int i = 0; i < 4; ++i) r.v[i] = vaddq_f32(x.v[i], y.v[i]);
  return r;
}
inline F mul(const F& x, const F& y) {
  F r;
  for (int i = 0; i < 4; ++i) r.v[i] = vmulq_f32(x.v[i], y.v[i]);
  return r;
}
inline F fma(const F& x, const F& y, const F& z) {
  F r;
  for (int i = 0; i < 4; ++i) r.v[i] = vfmaq_f32(z.v[i], x.v[i], y.v[i]);
  return r;
}
inline F greater(const F& x, const F& y) {
  F r;
  for (int i = 0; i < 4; ++i) r.v[i] = vbslq_f32(vcgtq_f32(x.v[i], y.v[i]), x.v[i], y.v[i]);
  return r;
}
inline void fma_each(const F& x, const float* p, F& acc) { acc = fma(x, set1(*p), acc); }
inline void mul_add_each(const F& x, const float* p, F& acc) { fma_each(x, p, acc); }

inline F load_f16(const uint8_t* p) {
  F r;
  for (int i = 0; i < 4; ++i) r.v[i] = vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p + 8 * i)));
  return r;
}
inline void load_bf16_pairs(const uint8_t* line, F& even, F& odd) {
  for (int i = 0; i < 4; ++i) {
    const uint32x4_t x = vreinterpretq_u32_u8(vld1q_u8(line + 16 * i));
    even.v[i] = vreinterpretq_f32_u32(vshlq_n_u32(x, 16));
    odd.v[i] = vreinterpretq_f32_u32(vandq_u32(x, vdupq_n_u32(0xffff0000u)));
  }
}
inline void load_f16_pairs(const uint8_t* line, F& even, F& odd) {
  for (int i = 0; i < 4; ++i) {
    const uint32x4_t x = vreinterpretq_u32_u8(vld1q_u8(line + 16 * i));
    even.v[i] = vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(x)));
    odd.v[i] = vcvt_f32_f16(vreinterpret_f16_u16(vshrn_n_u32(x, 16)));
  }
}
inline float sum(const F& x) {
  const float32x4_t lower = vaddq_f32(x.v[0], x.v[2]), upper = vaddq_f32(x.v[1], x.v[3]);
  const float32x4_t t4 = vaddq_f32(lower, upper);
  const float32x2_t t2 = vadd_f32(vget_low_f32(t4), vget_high_f32(t4));
  return vget_lane_f32(t2, 0) + vget_lane_f32(t2, 1);
}

inline constexpr uint32_t kSuperblocksAhead = 1;  // that weights are asked for
inline constexpr int kAttendRowsAtOnce = 4;       // 16 accumulators of 32 registers, a line in 4
inline constexpr int kAttendRowsSideBySide = 2;
inline constexpr int kFloatRowsAtOnce = 4;
