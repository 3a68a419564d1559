// NEON with dot product (Armv8.2): Q8_0 and Q4_K. A line of 64 bytes is four registers of [4 rows][4 k]; sdot adds four s8 x s8
// products per row in int32, exactly, the input's 4 k broadcast from a lane.

inline int8x16_t broadcast4(const void* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(v));
}
inline float32x4_t half_scales(const uint8_t* p) {
  return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p)));
}
inline int32x4_t widen_u8(const uint8_t* p, int quarter) {  // 4 of 16 bytes as int32
  const uint16x8_t half =
      vmovl_u8(quarter < 2 ? vget_low_u8(vld1q_u8(p)) : vget_high_u8(vld1q_u8(p)));
  return vreinterpretq_s32_u32(
      vmovl_u16(quarter % 2 == 0 ? vget_low_u16(half) : vget_high_u16(half)));
}

struct B8 {
  using At = Panel32<8, false>;
  static constexpr uint32_t kBytes = 8 * At::kBytes;

  template <int R>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         float32x4_t (*acc)[4]) {
    const uint32_t left = (a.k - b * 256) / 32, n = left < 8 ? left : 8;
    for (uint32_t j = 0; j < n; ++j) {
      int32x4_t dot[R][4];
      for (int i = 0; i < R; ++i)
        for (int h = 0; h < 4; ++h) dot[i][h] = vdupq_n_s32(0);
      for (uint32_t w = 0; w < 8; ++w) {
        const uint8_t* line = sb + (j * 8 + w) * 64;
        __builtin_prefetch(line + kBytes);
        int8x16_t code[4];
        for (int h = 0; h < 4; ++h) code[h] = vreinterpretq_s8_u8(vld1q_u8(line + 16 * h));
        for (int i = 0; i < R; ++i) {
          const int8x16_t q = broadcast4(in.q[i] + b * 256 + j * 32 + w * 4);
          for (int h = 0; h < 4; ++h) dot[i][h] = vdotq_s32(dot[i][h], code[h], q);
        }
      }
      for (int h = 0; h < 4; ++h) {
        const float32x4_t d =
            half_scales(sb + n * At::kDAt + j * 32 + static_cast<uint32_t>(h) * 8);
        for (int i = 0; i < R; ++i) {
          const float32x4_t t = vmulq_n_f32(d, in.dx(a, i)[b * 8 + j]);
          acc[i][h] = vfmaq_f32(acc[i][h], t, vcvtq_f32_s32(dot[i][h]));
        }
      }
    }
  }
};

struct K4 {
  using At = PanelK<4>;
  static constexpr uint32_t kBytes = At::kBytes;

  struct Scales {
    uint8_t scale[8][16], min[8][16];
  };
  static void unpack(const uint8_t* packed, Scales& s) {
    const uint8x16_t six = vdupq_n_u8(63), four = vdupq_n_u8(15), top = vdupq_n_u8(0x30);
    for (uint32_t j = 0; j < 4; ++j) {
      const uint8x16_t a = vld1q_u8(packed + 16 * j), m = vld1q_u8(packed + 16 * (j + 4)),
                       c = vld1q_u8(packed + 16 * (j + 8));
      vst1q_u8(s.scale[j], vandq_u8(a, six));
      vst1q_u8(s.min[j], vandq_u8(m, six));
      vst1q_u8(s.scale[j + 4], vorrq_u8(vandq_u8(c, four), vandq_u8(vshrq_n_u8(a, 2), top)));
      vst1q_u8(s.min[j + 4], vorrq_u8(vshrq_n_u8(c, 4), vandq_u8(vshrq_n_u8(m, 2), top)));
    }
  }

  template <int R>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         float32x4_t (*acc)[4]) {
    Scales s;
    unpack(sb + At::kScalesAt, s);
    int32x4_t isum[R][4], jsum[R][4];
    for (int i = 0; i < R; ++i)
      for (int h = 0; h < 4; ++h) isum[i][h] = jsum[i][h] = vdupq_n_s32(0);
    const uint8x16_t low = vdupq_n_u8(15);
    for (uint32_t g = 0; g < 8; ++g) {
      int32x4_t dot[R][4];
      for (int i = 0; i < R; ++i)
        for (int h = 0; h < 4; ++h) dot[i][h] = vdupq_n_s32(0);
      for (uint32_t z = 0; z < 4; ++z) {
        const uint8_t* line = sb + (g * 4 + z) * 64;
        __builtin_prefetch(line + kBytes);
        int8x16_t even[4], odd[4];
        for (int h = 0; h < 4; ++h) {
          const uint8x16_t v = vld1q_u8(line + 16 * h);
          even[h] = vreinterpretq_s8_u8(vandq_u8(v, low));
          odd[h] = vreinterpretq_s8_u8(vshrq_n_u8(v, 4));
        }
        for (int i = 0; i < R; ++i) {
          const int8_t* q = in.q[i] + b * 256 + g * 32 + z * 8;
          const int8x16_t q0 = broadcast4(q), q1 = broadcast4(q + 4);
          for (int h = 0; h < 4; ++h)
            dot[i][h] = vdotq_s32(vdotq_s32(dot[i][h], even[h], q0), odd[h], q1);
        }
      }
      for (int h = 0; h < 4; ++h) {
        const int32x4_t scale = widen_u8(s.scale[g], h), min = widen_u8(s.min[g], h);
        for (int i = 0; i < R; ++i) {
          isum[i][h] = vmlaq_s32(isum[i][h], dot[i][h], scale);
          jsum[i][h] = vmlaq_n_s32(jsum[i][h], min, in.sum_i16(a, i)[b * 8 + g]);
        }
      }
    }
    for (int h = 0; h < 4; ++h) {
      const float32x4_t d = half_scales(sb + At::kDAt + static_cast<uint32_t>(h) * 8);
      const float32x4_t dmin = half_scales(sb + At::kDminAt + static_cast<uint32_t>(h) * 8);
      for (int i = 0; i < R; ++i) {
        const float32x4_t minus = vnegq_f32(vmulq_f32(dmin, vcvtq_f32_s32(jsum[i][h])));
        const float32x4_t t = vfmaq_f32(minus, d, vcvtq_f32_s32(isum[i][h]));
        acc[i][h] = vfmaq_n_f32(acc[i][h], t, in.dx(a, i)[b]);
      }
    }
  }
};

template <class T, int R>
void stripe_rows(const LinearArgs& a, uint32_t row, uint32_t begin, uint32_t end) {
  const InputRows<R> in(a, row);
  float32x4_t acc[R][4];
  for (int i = 0; i < R; ++i)
    for (int h = 0; h < 4; ++h) acc[i][h] = vdupq_n_f32(0.0f);
  for (uint32_t b = begin; b < end; ++b)
    T::template superblock<R>(a, in, a.panel + size_t{b} * T::kBytes, b, acc);
  for (int i = 0; i < R; ++i)
    for (int h = 0; h < 4; ++h) {
      float* out = a.out + (row + static_cast<uint32_t>(i)) * 16 + 4 * h;
      vst1q_f32(out, vaddq_f32(vld1q_f32(out), acc[i][h]));
    }
}

template <class T>
void linear_a8(const LinearArgs& a) {
  for (uint32_t i = 0; i < a.n_rows; ++i) store(a.out + i * 16, zero());
  const uint32_t n_super = n_superblocks(a.k);
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s), end = stripe_edge(n_super, s + 1);
    if (begin == end) continue;
    uint32_t row = 0;
    for (; row + 4 <= a.n_rows; row += 4) stripe_rows<T, 4>(a, row, begin, end);
    for (; row < a.n_rows; ++row) stripe_rows<T, 1>(a, row, begin, end);
  }
}
