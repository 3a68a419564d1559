// AVX2 and AVX-VNNI: one panel times n rows, for a type T of linear_k.inl.h, linear_32.inl.h or linear_32_nibbles.inl.h. Few rows read the
// packed codes directly; from kA8ExpandFrom rows on a stripe is expanded to byte codes once (it stays in L1) and all rows pass over it.

constexpr uint32_t kA8ExpandFrom = 9;
constexpr int kA8Rows = 4;  // rows per register tile

template <class T, int R, bool kExpanded>
void stripe_rows(const LinearArgs& a, const uint8_t* weights, size_t stride, uint32_t row,
                 uint32_t begin, uint32_t end) {
  const InputRows<R> in(a, row);
  __m256 acc[R][2];
  clear<R>(acc);
  for (uint32_t b = begin; b < end; ++b, weights += stride)
    T::template superblock<R, kExpanded>(a, in, weights, b, acc);
  add_stripe<R>(a, row, acc);
}
