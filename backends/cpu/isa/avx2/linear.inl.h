// AVX2: one panel times n rows, for a type T of linear_k.inl.h or linear_32.inl.h. Few rows read the packed codes directly; from
// kExpandFrom rows on a stripe is expanded to byte codes once (it stays in L1) and all rows pass over it.

constexpr uint32_t kExpandFrom = 9;

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

template <class T, bool kExpanded>
void stripe(const LinearArgs& a, const uint8_t* weights, size_t stride, uint32_t begin,
            uint32_t end) {
  uint32_t row = 0;
  for (; row + 4 <= a.n_rows; row += 4)
    stripe_rows<T, 4, kExpanded>(a, weights, stride, row, begin, end);
  switch (a.n_rows - row) {
    case 3:
      stripe_rows<T, 3, kExpanded>(a, weights, stride, row, begin, end);
      break;
    case 2:
      stripe_rows<T, 2, kExpanded>(a, weights, stride, row, begin, end);
      break;
    case 1:
      stripe_rows<T, 1, kExpanded>(a, weights, stride, row, begin, end);
      break;
    default:
      break;
  }
}

template <class T>
void linear_a8(const LinearArgs& a) {
  using Expanded = typename T::Expanded;
  for (uint32_t i = 0; i < a.n_rows; ++i) store(a.out + i * 16, zero());
  const uint32_t n_super = (a.k + 255) / 256;
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = n_super * s / kStripes, end = n_super * (s + 1) / kStripes;
    if (begin == end) continue;
    const uint8_t* weights = a.panel + size_t{begin} * T::kBytes;
    if (a.n_rows < kExpandFrom) {
      stripe<T, false>(a, weights, T::kBytes, begin, end);
      continue;
    }
    auto* expanded = reinterpret_cast<Expanded*>(a.scratch);
    for (uint32_t b = begin; b < end; ++b) {
      const uint32_t left = (a.k - b * 256) / 32;
      T::expand(a.panel + size_t{b} * T::kBytes, left < 8 ? left : 8, expanded[b - begin]);
    }
    stripe<T, true>(a, a.scratch, sizeof(Expanded), begin, end);
  }
}
