// Integer dot products of 16 rows of codes with R input rows (kernels/row_dots.inl.h tells the names) by sdot (FEAT_DotProd): 16 codes,
// a sub-block, are one instruction and leave four partial sums. Those of 4 rows are added up together.

constexpr int kDotRows = 4;

inline int32x4_t sums_of_four(const int32x4_t* v) {
  return vpaddq_s32(vpaddq_s32(v[0], v[1]), vpaddq_s32(v[2], v[3]));
}

template <int R>
inline void super_dots(const RowCodes* rows, const int8_t* const* q, int32_t (*out)[16]) {
  for (uint32_t r = 0; r < 16; r += 4) {
    int32x4_t part[R][4];
    for (uint32_t t = 0; t < 4; ++t) {
      const RowCodes& row = rows[r + t];
      int32x4_t sum[R];
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) sum[i] = vdupq_n_s32(0);
#pragma GCC unroll 4
      for (uint32_t h = 0; h < 16; ++h) {
        const int8x16_t c = vld1q_s8(row.code + 16 * h);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
          const int32x4_t dot = vdotq_s32(vdupq_n_s32(0), c, vld1q_s8(q[i] + 16 * h));
          sum[i] = vmlaq_n_s32(sum[i], dot, row.sub_scale[h]);
        }
      }
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) part[i][t] = sum[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) vst1q_s32(out[i] + r, sums_of_four(part[i]));
  }
}

template <int R>
inline void min_dots(const RowCodes* rows, const int16_t* const* bias, int32_t (*out)[16]) {
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) {
    int16x8_t sums
        [2];  // S_h: -1/32 of the two halves of bias32 together, which fit int16 after the division only
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const int16x8_t low = vshrq_n_s16(vld1q_s16(bias[i] + 16 * h), 5),
                      high = vshrq_n_s16(vld1q_s16(bias[i] + 16 * h + 8), 5);
      sums[h] = vnegq_s16(vpaddq_s16(low, high));
    }
    for (uint32_t r = 0; r < 16; r += 4) {
      int32x4_t part[4];
#pragma GCC unroll 4
      for (uint32_t t = 0; t < 4; ++t) {
        const int16x8_t low = vld1q_s16(rows[r + t].sub_min),
                        high = vld1q_s16(rows[r + t].sub_min + 8);
        part[t] = vmull_s16(vget_low_s16(low), vget_low_s16(sums[0]));
        part[t] = vmlal_high_s16(part[t], low, sums[0]);
        part[t] = vmlal_s16(part[t], vget_low_s16(high), vget_low_s16(sums[1]));
        part[t] = vmlal_high_s16(part[t], high, sums[1]);
      }
      vst1q_s32(out[i] + r, sums_of_four(part));
    }
  }
}

template <int R>
inline void block_dots(const RowCodes* rows, uint32_t j, const int8_t* const* q,
                       int32_t (*out)[16]) {
  for (uint32_t r = 0; r < 16; r += 4) {
    int32x4_t part[R][4];
#pragma GCC unroll 4
    for (uint32_t t = 0; t < 4; ++t) {
      const int8_t* code = rows[r + t].code + 32 * j;
      const int8x16_t low = vld1q_s8(code), high = vld1q_s8(code + 16);
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        const int32x4_t dot = vdotq_s32(vdupq_n_s32(0), low, vld1q_s8(q[i] + 32 * j));
        part[i][t] = vdotq_s32(dot, high, vld1q_s8(q[i] + 32 * j + 16));
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) vst1q_s32(out[i] + r, sums_of_four(part[i]));
  }
}
