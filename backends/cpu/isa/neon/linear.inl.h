// NEON: one panel times n rows, for a type T of linear_k.inl.h or linear_32.inl.h. Few rows read the packed codes directly; from
// kA8ExpandFrom rows on a stripe is expanded to byte codes once and all rows pass over it.

constexpr uint32_t kA8ExpandFrom = 9;
constexpr int kA8Rows = 4;  // rows per register tile: 16 sums, 8 registers of codes, 4 of inputs

template <class T, int R, bool kExpanded>
void stripe_rows(const LinearArgs& a, const uint8_t* weights, size_t stride, uint32_t row,
                 uint32_t begin, uint32_t end) {
  const InputRows<R> in(a, row);
  float32x4_t acc[R][4];
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i) acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = vdupq_n_f32(0.0f);
  for (uint32_t b = begin; b < end; ++b, weights += stride)
    T::template superblock<R, kExpanded>(a, in, weights, b, acc);
#pragma GCC unroll 4
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      float* out = a.out + (row + static_cast<uint32_t>(i)) * 16 + 4 * h;
      vst1q_f32(out, vaddq_f32(vld1q_f32(out), acc[i][h]));
    }
}
