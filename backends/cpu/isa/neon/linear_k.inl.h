// NEON, 256-block types. Per superblock: I = sum_j sc_j sum(c q), J = sum_j mn_j S_j in int32;
// acc = fma(fma(d, I, -(dmin * J)), dx, acc).

struct alignas(64) K4Expanded {
  int8_t code[32][128];  // as the tile keeps 8 k
  K4Scales scales;
};
struct alignas(64) K6Expanded {
  int8_t code[32][128];
  int16_t scale[16][16];
  float d[16];
};

// J of one input row for a quarter of the outputs; sums: S_j of the superblock.
inline int32x4_t minimum_sums(const K4Scales& s, int h, int16x8_t sums) {
  const auto min = [&s, h](uint32_t j) { return vld1_s16(s.min[j] + 4 * h); };
  int32x4_t total = vmull_laneq_s16(min(0), sums, 0);
  total = vmlal_laneq_s16(total, min(1), sums, 1);
  total = vmlal_laneq_s16(total, min(2), sums, 2);
  total = vmlal_laneq_s16(total, min(3), sums, 3);
  total = vmlal_laneq_s16(total, min(4), sums, 4);
  total = vmlal_laneq_s16(total, min(5), sums, 5);
  total = vmlal_laneq_s16(total, min(6), sums, 6);
  return vmlal_laneq_s16(total, min(7), sums, 7);
}

template <bool kFive>
struct K4 {
  static constexpr int kBits = kFive ? 5 : 4;
  using At = PanelK<kBits>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K4Expanded;

  static HighBits high(const uint8_t* sb, uint32_t g) {
    return kFive ? high_bits(sb + At::kHighAt + g * 64) : HighBits{};
  }

  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (uint32_t g = 0; g < 8; ++g) {
      HighBits bits = high(sb, g);
      for (uint32_t z = 0; z < 4; ++z)
        StoredCodes::store_codes(e.code[g * 4 + z],
                                 unpack_step<kBits>(sb + (g * 4 + z) * 64, bits));
    }
    unpack_k4_scales(sb + At::kScalesAt, e.scales);
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         float32x4_t (*acc)[4]) {
    K4Scales unpacked;
    if constexpr (!kExpanded) unpack_k4_scales(sb + At::kScalesAt, unpacked);
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    const K4Scales& s = kExpanded ? e->scales : unpacked;
    Tile<R, kExpanded> isum;
    isum.clear();
    for (uint32_t g = 0; g < 8; ++g) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, g);
      Tile<R, kExpanded> dot;
      dot.clear();
      HighBits bits{};
      if constexpr (!kExpanded) bits = high(sb, g);
#pragma GCC unroll 1
      for (uint32_t z = 0; z < 4; ++z) {
        const uint32_t k = b * 256 + g * 32 + z * 8;
        if constexpr (kExpanded) {
          dot.add_stored(e->code[g * 4 + z], in.q, k);
        } else {
          const uint8_t* line = sb + (g * 4 + z) * 64;
          dot.add(unpack_step<kBits>(line, bits), in.q, k);
        }
      }
      isum.add_scaled(dot, s.scale[g]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const int16x8_t sums = vld1q_s16(in.sum_i16(a, i) + b * 8);
      const float dx = in.dx(a, i)[b];
#pragma GCC unroll 4
      for (int h = 0; h < 4; ++h) {
        const int32x4_t jsum = minimum_sums(s, h, sums);
        const float32x4_t minus =
            vnegq_f32(vmulq_f32(vld1q_f32(s.dmin + 4 * h), vcvtq_f32_s32(jsum)));
        const float32x4_t t =
            vfmaq_f32(minus, vld1q_f32(s.d + 4 * h), vcvtq_f32_s32(isum.quarter(i, h)));
        acc[i][h] = vfmaq_n_f32(acc[i][h], t, dx);
      }
    }
  }
};

struct K6 {
  using At = PanelK<6>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K6Expanded;

  static void unpack_scale(const uint8_t* sb, uint32_t j, int16_t* to) {
    const int8x16_t s = vreinterpretq_s8_u8(vld1q_u8(sb + At::kScalesAt + 16 * j));
    vst1q_s16(to, vmovl_s8(vget_low_s8(s)));
    vst1q_s16(to + 8, vmovl_high_s8(s));
  }

  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (uint32_t j = 0; j < 16; ++j) {
      HighBits bits = high_bits(sb + At::kHighAt + j * 64);
      for (uint32_t z = 0; z < 2; ++z)
        StoredCodes::store_codes(e.code[j * 2 + z], unpack_step<6>(sb + (j * 2 + z) * 64, bits));
      unpack_scale(sb, j, e.scale[j]);
    }
    store_halves(sb + At::kDAt, e.d);
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         float32x4_t (*acc)[4]) {
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    Tile<R, kExpanded> isum;
    isum.clear();
    for (uint32_t j = 0; j < 16; ++j) {
      int32_t owed[R];  // -32 * (sum of q): the two halves of bias32 added
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        const int16_t* bias = in.bias(a, i) + (b * 16 + j) * 2;
        owed[i] = bias[0] + bias[1];
      }
      Tile<R, kExpanded> dot;
      dot.start(owed);
      HighBits bits{};
      if constexpr (!kExpanded) {
        bits = high_bits(sb + At::kHighAt + j * 64);
        prefetch_next<kBytes, 16>(sb, j);
      }
#pragma GCC unroll 1
      for (uint32_t z = 0; z < 2; ++z) {
        const uint32_t k = b * 256 + j * 16 + z * 8;
        if constexpr (kExpanded) {
          dot.add_stored(e->code[j * 2 + z], in.q, k);
        } else {
          const uint8_t* line = sb + (j * 2 + z) * 64;
          dot.add(unpack_step<6>(line, bits), in.q, k);
        }
      }
      int16_t unpacked[16];
      if constexpr (!kExpanded) unpack_scale(sb, j, unpacked);
      isum.add_scaled(dot, kExpanded ? e->scale[j] : unpacked);
    }
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      const float32x4_t d =
          kExpanded ? vld1q_f32(e->d + 4 * h) : half_scales(sb + At::kDAt + 8 * h);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i)
        acc[i][h] =
            vfmaq_n_f32(acc[i][h], vmulq_f32(d, vcvtq_f32_s32(isum.quarter(i, h))), in.dx(a, i)[b]);
    }
  }
};
