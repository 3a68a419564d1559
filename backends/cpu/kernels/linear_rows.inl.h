// Class a8 for row types (quant/row_codes.h): panels that keep the file's blocks. A superblock's 16 rows become RowCodes in the scratch
// once for all input rows; integer sums are row_dots.inl.h's, float steps take 16 rows at a time. Included inside an instruction set's
// namespace after simd/<isa>.h, input_rows.inl.h and a row_dots.inl.h.

// blocks: of one row. An instruction set may specialise it, byte for byte the same.
template <DType kType>
struct RowExpand {
  static void expand(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
    decode_row_codes(kType, blocks, n_blocks, out);
  }
};

struct alignas(64) ExpandedRows {
  RowCodes row[16];
  float d[8][16];  // [0], or [block]
  float minus_m[16];
};
// In the scratch: sums of a stripe [kMaxLinearRows][16], then these.
static_assert(sizeof(ExpandedRows) <= kMostExpandedBytes);

// The next superblock is prefetched: sb_bytes are those of a whole one.
template <DType kType>
void expand_codes(const uint8_t* sb, uint32_t sb_bytes, uint32_t n_blocks, RowCodes* rows) {
  const uint32_t n_bytes = sb_bytes / 16 * n_blocks / 8;  // of a row
  for (uint32_t r = 0; r < 16; ++r) {
    const uint8_t* blocks = sb + r * n_bytes;
    for (uint32_t at = 0; at < n_bytes; at += 64) __builtin_prefetch(blocks + sb_bytes + at);
    RowExpand<kType>::expand(blocks, n_blocks, rows[r]);
  }
}

template <DType kType, bool kSuper, bool kMin>
void expand_rows(const uint8_t* sb, uint32_t sb_bytes, uint32_t n_blocks, ExpandedRows& out) {
  expand_codes<kType>(sb, sb_bytes, n_blocks, out.row);
  for (uint32_t r = 0; r < 16; ++r) {
    for (uint32_t j = 0; j < (kSuper ? 1 : n_blocks); ++j) out.d[j][r] = out.row[r].d[j];
    if constexpr (kMin) out.minus_m[r] = -out.row[r].m[0];
  }
}

// Rows row .. row + R - 1 with superblock b; sums: [n_rows][16] of the stripe.
template <bool kSuper, bool kMin, int R>
void add_rows_superblock(const LinearArgs& a, const ExpandedRows& w, uint32_t row, uint32_t b,
                         uint32_t n_blocks, float* sums) {
  const InputRows<R> in(a, row);
  const int8_t* q[R];
  for (int i = 0; i < R; ++i) q[i] = in.q[i] + b * 256;
  float* acc = sums + row * 16;
  alignas(64) int32_t dot[R][16];
  if constexpr (kSuper) {
    super_dots<R>(w.row, q, dot);
    alignas(64) int32_t min_dot[R][16];
    if constexpr (kMin) {
      const int16_t* bias[R];
      for (int i = 0; i < R; ++i) bias[i] = in.bias(a, i) + b * 32;
      min_dots<R>(w.row, bias, min_dot);
    }
    for (int i = 0; i < R; ++i) {
      F t;
      if constexpr (kMin)
        t = fma(load(w.d[0]), load_int32(dot[i]), mul(load(w.minus_m), load_int32(min_dot[i])));
      else
        t = mul(load(w.d[0]), load_int32(dot[i]));
      store(acc + i * 16, fma(t, set1(in.dx(a, i)[b]), load(acc + i * 16)));
    }
  } else {
    static_assert(!kMin);
    for (uint32_t j = 0; j < n_blocks; ++j) {
      block_dots<R>(w.row, j, q, dot);
      for (int i = 0; i < R; ++i)
        store(acc + i * 16, fma(mul(load(w.d[j]), set1(in.dx(a, i)[b * 8 + j])), load_int32(dot[i]),
                                load(acc + i * 16)));
    }
  }
}

template <bool kSuper, bool kMin, int R>
void add_rest_of_rows(const LinearArgs& a, const ExpandedRows& w, uint32_t row, uint32_t b,
                      uint32_t n_blocks, float* sums) {
  if constexpr (R > 0) {
    if (a.n_rows - row == R)
      add_rows_superblock<kSuper, kMin, R>(a, w, row, b, n_blocks, sums);
    else
      add_rest_of_rows<kSuper, kMin, R - 1>(a, w, row, b, n_blocks, sums);
  }
}

// Not inlined: one copy for all types.
template <bool kSuper, bool kMin>
[[gnu::noinline]] void add_all_rows(const LinearArgs& a, const ExpandedRows& w, uint32_t b,
                                    uint32_t n_blocks, float* sums) {
  uint32_t row = 0;
  for (; row + kDotRows <= a.n_rows; row += kDotRows)
    add_rows_superblock<kSuper, kMin, kDotRows>(a, w, row, b, n_blocks, sums);
  add_rest_of_rows<kSuper, kMin, kDotRows - 1>(a, w, row, b, n_blocks, sums);
}

template <DType kType>
void linear_rows(const LinearArgs& a) {
  constexpr bool kSuper = kRowType<kType>.group == 256, kMin = kRowType<kType>.has_min;
  auto* sums = reinterpret_cast<float*>(a.scratch);
  auto& rows = *reinterpret_cast<ExpandedRows*>(a.scratch + kMaxLinearRows * 64);
  const uint32_t n_super = n_superblocks(a.k), sb_bytes = superblock_bytes(kType);
  for (uint32_t i = 0; i < a.n_rows; ++i) store(a.out + i * 16, zero());
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s), end = stripe_edge(n_super, s + 1);
    if (begin == end) continue;
    for (uint32_t i = 0; i < a.n_rows; ++i) store(sums + i * 16, zero());
    for (uint32_t b = begin; b < end; ++b) {
      const uint32_t left = (a.k - b * 256) / 32, n_blocks = left < 8 ? left : 8;
      expand_rows<kType, kSuper, kMin>(a.panel + size_t{b} * sb_bytes, sb_bytes, n_blocks, rows);
      add_all_rows<kSuper, kMin>(a, rows, b, n_blocks, sums);
    }
    for (uint32_t i = 0; i < a.n_rows; ++i)
      store(a.out + i * 16, add(load(a.out + i * 16), load(sums + i * 16)));
  }
}

// All row types.
template <size_t kFrom = 0>
constexpr void set_rows(KernelTable& t) {
  if constexpr (kFrom < std::size(kRowTypes)) {
    constexpr DType kType = kRowTypes[kFrom].type;
    set_linear(t, kType, &linear_rows<kType>);
    set_rows<kFrom + 1>(t);
  }
}
