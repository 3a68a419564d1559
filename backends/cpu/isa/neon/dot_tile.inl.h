// 16 outputs times R input rows in int32 by sdot (FEAT_DotProd): four s8 x s8 products per output, exactly, the input's 4 k from a lane.
template <int R>
struct DotTile {
  int32x4_t v[R][4];  // [input row][quarter]

  void start(const int32_t* value) {  // one per input row
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) v[i][0] = v[i][1] = v[i][2] = v[i][3] = vdupq_n_s32(value[i]);
  }
  void clear() {
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) v[i][0] = v[i][1] = v[i][2] = v[i][3] = vdupq_n_s32(0);
  }
  // += codes . q_i over 8 k
  void add(const Quads& c, const int8_t* const* q, uint32_t k) {
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const int8x8_t eight = vld1_s8(q[i] + k);
#pragma GCC unroll 4
      for (int h = 0; h < 4; ++h) {
        v[i][h] = vdotq_lane_s32(v[i][h], c.w[0][h], eight, 0);
        v[i][h] = vdotq_lane_s32(v[i][h], c.w[1][h], eight, 1);
      }
    }
  }
  static void store_codes(int8_t* to, const Quads& c) {
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      vst1q_s8(to + 16 * h, c.w[0][h]);
      vst1q_s8(to + 64 + 16 * h, c.w[1][h]);
    }
  }
  // The same of what store_codes wrote.
  void add_stored(const int8_t* codes, const int8_t* const* q, uint32_t k) {
    Quads c;
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      c.w[0][h] = vld1q_s8(codes + 16 * h);
      c.w[1][h] = vld1q_s8(codes + 64 + 16 * h);
    }
    add(c, q, k);
  }
  // += dot * scale, scale [16]
  void add_scaled(const DotTile& dot, const int16_t* scale) {
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      const int32x4_t s = vmovl_s16(vld1_s16(scale + 4 * h));
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) v[i][h] = vmlaq_s32(v[i][h], dot.v[i][h], s);
    }
  }
  int32x4_t quarter(int i, int h) const { return v[i][h]; }
};
