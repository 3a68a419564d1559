// 16 outputs times R input rows in int32 by smmla (FEAT_I8MM): two rows of 8 k times two rows of 8 k, s8 x s8, exactly. The 8 k of two
// weight rows are the two nibbles of a line side by side: one zip. An odd last input row is its own partner.
template <int R>
struct MatrixTile {
  static constexpr int kPairs = (R + 1) / 2;
  // [pair of input rows x, y][pair of outputs r, r + 1]: x.r, x.(r+1), y.r, y.(r+1)
  int32x4_t v[kPairs][8];

  static constexpr int second(int pair) { return 2 * pair + 1 < R ? 2 * pair + 1 : 2 * pair; }

  void start(const int32_t* value) {  // one per input row
#pragma GCC unroll 2
    for (int p = 0; p < kPairs; ++p) {
      const int32x4_t two = vcombine_s32(vdup_n_s32(value[2 * p]), vdup_n_s32(value[second(p)]));
#pragma GCC unroll 8
      for (int o = 0; o < 8; ++o) v[p][o] = two;
    }
  }
  void clear() {
#pragma GCC unroll 2
    for (int p = 0; p < kPairs; ++p)
#pragma GCC unroll 8
      for (int o = 0; o < 8; ++o) v[p][o] = vdupq_n_s32(0);
  }
  // += codes . q_i over 8 k
  void add(const Quads& c, const int8_t* const* q, uint32_t k) {
    int8x16_t input[kPairs];
    load_inputs(q, k, input);
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      const int8x16_t first = zip<false>(c, h), last = zip<true>(c, h);
#pragma GCC unroll 2
      for (int p = 0; p < kPairs; ++p) {
        v[p][2 * h] = vmmlaq_s32(v[p][2 * h], input[p], first);
        v[p][2 * h + 1] = vmmlaq_s32(v[p][2 * h + 1], input[p], last);
      }
    }
  }
  static void store_codes(int8_t* to, const Quads& c) {
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      vst1q_s8(to + 32 * h, zip<false>(c, h));
      vst1q_s8(to + 32 * h + 16, zip<true>(c, h));
    }
  }
  // The same of what store_codes wrote.
  void add_stored(const int8_t* codes, const int8_t* const* q, uint32_t k) {
    int8x16_t input[kPairs];
    load_inputs(q, k, input);
#pragma GCC unroll 8
    for (int o = 0; o < 8; ++o) {
      const int8x16_t weights = vld1q_s8(codes + 16 * o);
#pragma GCC unroll 2
      for (int p = 0; p < kPairs; ++p) v[p][o] = vmmlaq_s32(v[p][o], input[p], weights);
    }
  }
  // += dot * scale, scale [16]
  void add_scaled(const MatrixTile& dot, const int16_t* scale) {
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      const int32x4_t s = vmovl_s16(vld1_s16(scale + 4 * h));
      const int32x4_t first = vcombine_s32(vget_low_s32(s), vget_low_s32(s)),
                      last = vcombine_s32(vget_high_s32(s), vget_high_s32(s));
#pragma GCC unroll 2
      for (int p = 0; p < kPairs; ++p) {
        v[p][2 * h] = vmlaq_s32(v[p][2 * h], dot.v[p][2 * h], first);
        v[p][2 * h + 1] = vmlaq_s32(v[p][2 * h + 1], dot.v[p][2 * h + 1], last);
      }
    }
  }
  int32x4_t quarter(int i, int h) const {
    const int32x4_t first = v[i / 2][2 * h], last = v[i / 2][2 * h + 1];
    return i % 2 == 0 ? vcombine_s32(vget_low_s32(first), vget_low_s32(last))
                      : vcombine_s32(vget_high_s32(first), vget_high_s32(last));
  }

 private:
  static void load_inputs(const int8_t* const* q, uint32_t k, int8x16_t* input) {
#pragma GCC unroll 2
    for (int p = 0; p < kPairs; ++p)
      input[p] = vcombine_s8(vld1_s8(q[2 * p] + k), vld1_s8(q[second(p)] + k));
  }
  // [2 rows][8 k] of the quarter's first or last two rows
  template <bool kLast>
  static int8x16_t zip(const Quads& c, int h) {
    const int32x4_t low = vreinterpretq_s32_s8(c.w[0][h]), high = vreinterpretq_s32_s8(c.w[1][h]);
    return vreinterpretq_s8_s32(kLast ? vzip2q_s32(low, high) : vzip1q_s32(low, high));
  }
};
