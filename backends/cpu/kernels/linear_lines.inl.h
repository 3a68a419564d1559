// Class a8 for row types with many input rows: the codes of 16 rows once more, as lines of [16 rows][4 k], which panels of packed types
// consist of; then all input rows pass over a stripe of them by stripe() of linear_a8.inl.h. That takes once what sums within a row
// (row_dots.inl.h) cost for every input row. Included inside an instruction set's namespace after linear_a8.inl.h, linear_rows.inl.h
// and types, which bring
//   T::kSuper, T::kMin             as linear_rows() takes them
//   T::Expanded, T::expand         a superblock out of 16 rows' codes
//   T::superblock<R, true>         R rows of the input with it
//   kLinesFrom                     input rows from which that is faster

template <DType kType, class T>
void linear_lines(const LinearArgs& a) {
  if (a.n_rows < kLinesFrom) {
    linear_rows<kType, T::kSuper, T::kMin>(a);
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

// Row types that an instruction set's LinesK<kMost, kMin> and Lines32<kMost> are faster for; kMost: of the codes.
constexpr void set_row_lines(KernelTable& t) {
  const auto set = [&t](DType type, LinearFn fn) { t.linear[static_cast<uint32_t>(type)] = fn; };
  set(DType::mxfp4, &linear_lines<DType::mxfp4, Lines32<12>>);
  set(DType::q1_0, &linear_lines<DType::q1_0, Lines32<12>>);
  set(DType::q2_0, &linear_lines<DType::q2_0, Lines32<12>>);
  set(DType::q2_k, &linear_lines<DType::q2_k, LinesK<32, true>>);
  set(DType::q3_k, &linear_lines<DType::q3_k, LinesK<32, false>>);
  set(DType::iq1_s, &linear_lines<DType::iq1_s, LinesK<32, false>>);
  set(DType::iq1_m, &linear_lines<DType::iq1_m, LinesK<32, false>>);
  set(DType::iq3_s, &linear_lines<DType::iq3_s, LinesK<32, false>>);
  set(DType::tq1_0, &linear_lines<DType::tq1_0, LinesK<32, false>>);
  set(DType::tq2_0, &linear_lines<DType::tq2_0, LinesK<32, false>>);
  set(DType::iq2_xxs, &linear_lines<DType::iq2_xxs, LinesK<62, false>>);
  set(DType::iq2_xs, &linear_lines<DType::iq2_xs, LinesK<62, false>>);
  set(DType::iq2_s, &linear_lines<DType::iq2_s, LinesK<62, false>>);
  set(DType::iq3_xxs, &linear_lines<DType::iq3_xxs, LinesK<62, false>>);
}
