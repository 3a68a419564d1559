// Class a8 for row types with many input rows: the codes of 16 rows once more, as lines of [16 rows][4 k], which panels of packed types
// consist of; then all input rows pass over a stripe of them by stripe() of linear_a8.inl.h. That takes once what sums within a row
// (row_dots.inl.h) cost for every input row. Included inside an instruction set's namespace after linear_a8.inl.h, linear_rows.inl.h
// and types, which bring
//   T::Expanded, T::expand         a superblock out of 16 rows' codes
//   T::superblock<R, true>         R rows of the input with it
//   RowLines<kType>                T of a type
//   kLinesFrom                     input rows from which that is faster
//   kLinesLargestCode              for types whose codes are no larger

template <DType kType, class T = RowLines<kType>>
void linear_lines(const LinearArgs& a) {
  if (a.n_rows < kLinesFrom) {
    linear_rows<kType>(a);
    return;
  }
  // One superblock's codes lie behind the stripe's expanded ones.
  using Expanded = typename T::Expanded;
  static_assert(sizeof(Expanded) + 16 * sizeof(RowCodes) <= kMostExpandedBytes);
  clear_sums(a);
  const uint32_t n_super = n_superblocks(a.k), sb_bytes = superblock_bytes(kType);
  auto* expanded = reinterpret_cast<Expanded*>(a.scratch);
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s), end = stripe_edge(n_super, s + 1);
    if (begin == end) continue;
    auto* rows = reinterpret_cast<RowCodes*>(expanded + (end - begin));
    for (uint32_t b = begin; b < end; ++b) {
      const uint32_t left = (a.k - b * 256) / 32, n_blocks = left < 8 ? left : 8;
      expand_codes<kType>(a.panel + size_t{b} * sb_bytes, sb_bytes, n_blocks, rows);
      T::expand(rows, n_blocks, expanded[b - begin]);
    }
    stripe<T, true>(a, a.scratch, sizeof(Expanded), begin, end);
  }
}

// The row types that it is faster for.
template <size_t kFrom = 0>
constexpr void set_row_lines(KernelTable& t) {
  if constexpr (kFrom < std::size(kRowTypes)) {
    constexpr RowType kRow = kRowTypes[kFrom];
    if constexpr (kRow.largest_code <= kLinesLargestCode)
      set_linear(t, kRow.type, &linear_lines<kRow.type>);
    set_row_lines<kFrom + 1>(t);
  }
}
