// AArch64: scales of a panel's 16 rows out of their packed places.

inline float32x4_t half_scales(const uint8_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}

// 16 halves as floats.
inline void store_halves(const uint8_t* p, float* to) {
  for (uint32_t h = 0; h < 4; ++h) vst1q_f32(to + 4 * h, half_scales(p + 8 * h));
}

// Of a superblock of Q4_K or Q5_K: sub-scales and minimums of each 32 k.
struct K4Scales {
  int16_t scale[8][16], min[8][16];
  float d[16], dmin[16];
};
inline void store_widened(int16_t* to, uint8x16_t v) {
  vst1q_s16(to, vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(v))));
  vst1q_s16(to + 8, vreinterpretq_s16_u16(vmovl_high_u8(v)));
}

inline void unpack_k4_scales(const uint8_t* packed, K4Scales& out) {
  const uint8x16_t six = vdupq_n_u8(63), four = vdupq_n_u8(15), top = vdupq_n_u8(0x30);
  for (uint32_t j = 0; j < 4; ++j) {
    const uint8x16_t s = vld1q_u8(packed + 16 * j), m = vld1q_u8(packed + 16 * (j + 4)),
                     both = vld1q_u8(packed + 16 * (j + 8));
    store_widened(out.scale[j], vandq_u8(s, six));
    store_widened(out.min[j], vandq_u8(m, six));
    store_widened(out.scale[j + 4],
                  vorrq_u8(vandq_u8(both, four), vandq_u8(vshrq_n_u8(s, 2), top)));
    store_widened(out.min[j + 4], vorrq_u8(vshrq_n_u8(both, 4), vandq_u8(vshrq_n_u8(m, 2), top)));
  }
  store_halves(packed + kPackedScales, out.d);
  store_halves(packed + kPackedScales + kPanelHalves, out.dmin);
}
