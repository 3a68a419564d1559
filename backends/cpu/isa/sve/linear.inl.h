// SVE: one panel times n rows, for a type T of linear_k.inl.h or linear_32.inl.h, slice by slice. Few rows read the packed codes
// directly; from kA8ExpandFrom rows on a stripe is expanded to byte codes once and all rows pass over it.

constexpr uint32_t kA8ExpandFrom = 9;
constexpr int kA8Rows = 4;  // rows per register tile

inline void add_to(svbool_t lanes, float* out, svfloat32_t sum) {
  svst1_f32(lanes, out, svadd_f32_x(lanes, svld1_f32(lanes, out), sum));
}

template <class T, int R, bool kExpanded>
void stripe_rows(const LinearArgs& a, const uint8_t* weights, size_t stride, uint32_t row,
                 uint32_t begin, uint32_t end) {
  const InputRows<R> in(a, row);
  for (Slice s{0}; s.at < 16; s.at += static_cast<uint32_t>(svcntw())) {
    svfloat32_t f0 = svdup_n_f32(0.0f), f1 = f0, f2 = f0, f3 = f0;
    const uint8_t* sb = weights;
    for (uint32_t b = begin; b < end; ++b, sb += stride)
      T::template superblock<R, kExpanded>(a, in, s, sb, b, f0, f1, f2, f3);
    float* out = a.out + row * 16 + s.at;
    add_to(s.lanes(), out, f0);
    if constexpr (R > 1) add_to(s.lanes(), out + 16, f1);
    if constexpr (R > 2) add_to(s.lanes(), out + 32, f2);
    if constexpr (R > 3) add_to(s.lanes(), out + 48, f3);
  }
}
