// Class a8: one panel times n rows, stripe by stripe, for a packed type T. Included inside an instruction set's namespace after its
// types, which bring
//   T::kBytes, T::Expanded, T::expand     a packed superblock, and its form as byte codes
//   stripe_rows<T, R, kExpanded>          R rows over one stripe, added to a.out
//   B32, K4, K6                           those of 32-block types, of Q4_K and Q5_K, of Q6_K
//   kA8Rows, kA8ExpandFrom                rows per register tile; rows from which a stripe is expanded once

template <class T, bool kExpanded, int R>
void stripe_rest(const LinearArgs& a, const uint8_t* weights, size_t stride, uint32_t row,
                 uint32_t begin, uint32_t end) {
  if constexpr (R > 0) {
    if (a.n_rows - row == R)
      stripe_rows<T, R, kExpanded>(a, weights, stride, row, begin, end);
    else
      stripe_rest<T, kExpanded, R - 1>(a, weights, stride, row, begin, end);
  }
}

template <class T, bool kExpanded>
void stripe(const LinearArgs& a, const uint8_t* weights, size_t stride, uint32_t begin,
            uint32_t end) {
  uint32_t row = 0;
  for (; row + kA8Rows <= a.n_rows; row += kA8Rows)
    stripe_rows<T, kA8Rows, kExpanded>(a, weights, stride, row, begin, end);
  stripe_rest<T, kExpanded, kA8Rows - 1>(a, weights, stride, row, begin, end);
}

inline void clear_sums(const LinearArgs& a) {
  for (uint32_t i = 0; i < a.n_rows; ++i) store(a.out + i * 16, zero());
}

// A superblock of the panel. The same of the panel `ahead` bytes behind is asked for, into the second cache: the rows of the input are
// worked through before it is needed.
template <class T>
void expand_superblock(uint32_t k, const uint8_t* panel, size_t ahead, uint32_t b,
                       typename T::Expanded& expanded) {
  static_assert(sizeof(typename T::Expanded) <= kMostExpandedBytes);
  const uint32_t left = (k - b * 256) / 32;
  const uint8_t* superblock = panel + size_t{b} * T::kBytes;
  T::expand(superblock, left < 8 ? left : 8, expanded);
  for (uint32_t at = 0; at < T::kBytes; at += 64) __builtin_prefetch(superblock + ahead + at, 0, 2);
}

template <class T>
void linear_a8(const LinearArgs& a) {
  clear_sums(a);
  const uint32_t n_super = n_superblocks(a.k);
  const size_t panel_bytes = size_t{a.k} / 32 * (T::kBytes / 8);
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s), end = stripe_edge(n_super, s + 1);
    if (begin == end) continue;
    if (a.n_rows < kA8ExpandFrom) {
      stripe<T, false>(a, a.panel + size_t{begin} * T::kBytes, T::kBytes, begin, end);
      continue;
    }
    auto* expanded = reinterpret_cast<typename T::Expanded*>(a.scratch);
    for (uint32_t b = begin; b < end; ++b)
      expand_superblock<T>(a.k, a.panel, panel_bytes, b, expanded[b - begin]);
    stripe<T, true>(a, a.scratch, sizeof(typename T::Expanded), begin, end);
  }
}

// Packed types; Q8 is Q8_0's.
template <class Q8>
constexpr void set_packed(KernelTable& t) {
  set_linear(t, DType::q4_0, &linear_a8<B32<4, false, 8>>);
  set_linear(t, DType::q4_1, &linear_a8<B32<4, true, 0>>);
  set_linear(t, DType::q5_0, &linear_a8<B32<5, false, 16>>);
  set_linear(t, DType::q5_1, &linear_a8<B32<5, true, 0>>);
  set_linear(t, DType::q8_0, &linear_a8<Q8>);
  set_linear(t, DType::q4_k, &linear_a8<K4<false>>);
  set_linear(t, DType::q5_k, &linear_a8<K4<true>>);
  set_linear(t, DType::q6_k, &linear_a8<K6>);
}
