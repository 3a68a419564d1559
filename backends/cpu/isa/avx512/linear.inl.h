// AVX-512 VNNI: one panel times n rows, for a type T of linear_k.inl.h or linear_32.inl.h. Few rows read the packed codes directly; from
// kA8ExpandFrom rows on a stripe is expanded to byte codes once.

constexpr uint32_t kA8ExpandFrom = 13;
constexpr int kA8Rows = 6;  // rows per register tile

template <class T, int R, bool kExpanded>
void stripe_rows(const LinearArgs& a, const uint8_t* weights, size_t stride, uint32_t row,
                 uint32_t begin, uint32_t end) {
  const InputRows<R> in(a, row);
  __m512 acc[R];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) acc[i] = _mm512_setzero_ps();
  for (uint32_t b = begin; b < end; ++b, weights += stride)
    T::template superblock<R, kExpanded>(a, in, weights, b, acc);
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    float* out = a.out + (row + static_cast<uint32_t>(i)) * 16;
    _mm512_store_ps(out, _mm512_add_ps(_mm512_load_ps(out), acc[i]));
  }
}
