// Attention over one chunk of 256 keys (docs/NUMERICS.md). Included inside an instruction set's namespace after simd/<isa>.h.
//
//   for each tile of 64 keys with a visible one:
//     s = softcap(scale * q.K), masked -inf;  m' = max(m, max s);  a = exp(m - m');  p = exp(s - m')
//     l = a l + sum p;  o = a o + p V;  m = m'         where V is bf16, p is rounded first: both sums take the rounded p
//
// sum p: four groups of 16 keys ascending, each by sum()'s halving tree (docs/decisions/003-attention-sums.md).
//
// A row of the tile is (query token, head of the group): K and V are read once for all of them. Lanes are keys in q.K (K is stored
// [d][key]) and columns in p V (V is stored [key][d]), so both products are one loop: broadcast times line, chained over depth.
//
// b16 (bf16 K or V): the left side is rounded to bf16; 32 steps of depth are an even and an odd chain of 16 fmas from +0, added, then
// added to the accumulator, as TDPBF16PS does. f32: one fma per step.

constexpr uint32_t pad_to_16(uint32_t n) { return (n + 15) / 16 * 16; }

constexpr float kMinusInf = -__builtin_inff();

// Where the lines of one product lie: step t of the depth (a pair of steps for bf16) is line t mod 2^shift of base[t >> shift].
// In decoding they come from memory, in pieces of a few KiB here and there. So each step asks for the line at its place in what is needed
// next: in q.K the values of the same keys, in p V the next keys.
struct Lines {
  const uint8_t* const* base;
  const uint8_t* const* next;
  uint32_t shift;
  size_t stride;
  const uint8_t* at(uint32_t t) const {
    return base[t >> shift] + (t & ((1u << shift) - 1)) * stride;
  }
  const uint8_t* next_at(uint32_t t) const {
    return next[t >> shift] + (t & ((1u << shift) - 1)) * stride;
  }
  // The first step after t that has another base.
  uint32_t end_of_base(uint32_t t) const { return ((t >> shift) + 1) << shift; }
};

enum class Pairs { even, odd, both };

// even[r] and odd[r] += their halves of pairs [begin, end). Inlined, or the accumulators would live in memory.
template <int R, Pairs kPairs>
LLMRT_MATH_INLINE void chain_pairs(const float* const* left, uint32_t begin, uint32_t end,
                                   const Lines& lines, size_t column_bytes, F* even, F* odd) {
  for (uint32_t t = begin; t < end;) {
    const uint8_t* line = lines.at(t) + column_bytes;
    const uint8_t* next = lines.next_at(t) + column_bytes;
    const uint32_t whole = lines.end_of_base(t), stop = end < whole ? end : whole;
    for (; t < stop; ++t, line += lines.stride, next += lines.stride) {
      if constexpr (kPairs != Pairs::odd) __builtin_prefetch(next);
      F e, o;
      load_bf16_pairs(line, e, o);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
        if constexpr (kPairs != Pairs::odd) fma_each(e, left[r] + 2 * t, even[r]);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
        if constexpr (kPairs != Pairs::even) fma_each(o, left[r] + 2 * t + 1, odd[r]);
    }
  }
}

// acc[r] += left[r][0 .. depth) . lines, by bf16 pairs. left[r] is zero at depth if depth is odd.
template <int R>
LLMRT_MATH_INLINE void chain_b16(const float* const* left, uint32_t depth, const Lines& lines,
                                 size_t column_bytes, F* acc) {
  const uint32_t n_pairs = (depth + 1) / 2;
  for (uint32_t begin = 0; begin < n_pairs; begin += 16) {
    const uint32_t end = begin + 16 < n_pairs ? begin + 16 : n_pairs;
    F even[R], odd[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) even[r] = odd[r] = zero();
    if constexpr (R <= kAttendRowsSideBySide) {
      chain_pairs<R, Pairs::both>(left, begin, end, lines, column_bytes, even, odd);
    } else {  // one chain after the other: both would not fit into the registers
      chain_pairs<R, Pairs::even>(left, begin, end, lines, column_bytes, even, odd);
      chain_pairs<R, Pairs::odd>(left, begin, end, lines, column_bytes, even, odd);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) acc[r] = add(acc[r], add(even[r], odd[r]));
  }
}

template <int R, bool kHalf>
LLMRT_MATH_INLINE void chain_f32(const float* const* left, uint32_t depth, const Lines& lines,
                                 size_t column_bytes, F* acc) {
  for (uint32_t t = 0; t < depth;) {
    const uint8_t* line = lines.at(t) + column_bytes;
    const uint8_t* next = lines.next_at(t) + column_bytes;
    const uint32_t whole = lines.end_of_base(t), stop = depth < whole ? depth : whole;
    for (; t < stop; ++t, line += lines.stride, next += lines.stride) {
      __builtin_prefetch(next);
      F v;
      if constexpr (kHalf)
        v = load_f16(line);
      else
        v = load(reinterpret_cast<const float*>(line));
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) fma_each(v, left[r] + t, acc[r]);
    }
  }
}

template <int R>
LLMRT_MATH_INLINE void chain(RowCodec codec, const float* const* left, uint32_t depth,
                             const Lines& lines, uint32_t column, F* acc) {
  switch (codec) {
    case RowCodec::bf16:
      chain_b16<R>(left, depth, lines, size_t{column} * 4, acc);
      return;
    case RowCodec::f16:
      chain_f32<R, true>(left, depth, lines, size_t{column} * 2, acc);
      return;
    case RowCodec::f32:
      chain_f32<R, false>(left, depth, lines, size_t{column} * 4, acc);
      return;
  }
}

struct RowState {
  float m, l, alpha;
  uint32_t first, end;  // visible keys, absolute
};

struct AttendScratch {
  float* q;  // [rows][d_k padded to 16, zero beyond d_k]
  float* s;  // [rows][64]: scores, then probabilities
};

// s[r][c] = left[r] . K for 16 keys from column c on.
template <int R>
void score_rows(const AttendArgs& a, const AttendScratch& w, uint32_t row, uint32_t q_stride,
                const Lines& lines, uint32_t column, uint32_t out_column) {
  const float* left[R];
  F acc[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    left[r] = w.q + (row + static_cast<uint32_t>(r)) * q_stride;
    acc[r] = zero();
  }
  chain<R>(a.k_codec, left, a.d_k, lines, column, acc);
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
    store(w.s + (row + static_cast<uint32_t>(r)) * kAttendTile + out_column, acc[r]);
}

template <int R>
void value_rows(const AttendArgs& a, const AttendScratch& w, const RowState* state, uint32_t row,
                uint32_t depth, const Lines& lines) {
  const float* left[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) left[r] = w.s + (row + static_cast<uint32_t>(r)) * kAttendTile;
  for (uint32_t column = 0; column < a.d_v; column += 16) {
    F acc[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      acc[r] = mul(load(a.parts + (row + static_cast<uint32_t>(r)) * a.part_stride + column),
                   set1(state[row + static_cast<uint32_t>(r)].alpha));
    chain<R>(a.v_codec, left, depth, lines, column, acc);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r)
      store(a.parts + (row + static_cast<uint32_t>(r)) * a.part_stride + column, acc[r]);
  }
}

template <int R>
void tile_rows(const AttendArgs& a, const AttendScratch& w, const RowState* state, uint32_t row,
               uint32_t q_stride, const Lines* k_lines, uint32_t n_columns, uint32_t depth,
               const Lines& v_lines, bool values) {
  if (values) {
    value_rows<R>(a, w, state, row, depth, v_lines);
    return;
  }
  for (uint32_t c = 0; c < n_columns; c += 16)
    score_rows<R>(a, w, row, q_stride, k_lines[c / a.block_tokens], c % a.block_tokens, c);
}

// All rows in register tiles, the rest one by one.
inline void all_rows(const AttendArgs& a, const AttendScratch& w, const RowState* state,
                     uint32_t n_rows, uint32_t q_stride, const Lines* k_lines, uint32_t n_columns,
                     uint32_t depth, const Lines& v_lines, bool values) {
  uint32_t row = 0;
  const auto take = [&]<int R>() {
    tile_rows<R>(a, w, state, row, q_stride, k_lines, n_columns, depth, v_lines, values);
    row += R;
  };
  while (row + kAttendRowsAtOnce <= n_rows) take.template operator()<kAttendRowsAtOnce>();
  if constexpr (kAttendRowsAtOnce > 4)
    while (row + 4 <= n_rows) take.template operator()<4>();
  if constexpr (kAttendRowsAtOnce > 3)
    if (row + 3 == n_rows) take.template operator()<3>();
  if constexpr (kAttendRowsAtOnce > 2)
    if (row + 2 <= n_rows) take.template operator()<2>();
  while (row < n_rows) take.template operator()<1>();
}

// Whether the row sees none of the tile at position `tile`.
inline bool sees_nothing(const RowState& st, uint32_t tile) {
  return st.first >= tile + kAttendTile || st.end <= tile;
}

// Scores of one row as softmax takes them, -inf where the row does not see the key. Returns the highest of them and of st.m.
inline float scale_scores(const AttendArgs& a, const RowState& st, float* s, uint32_t tile) {
  for (uint32_t c = 0; c < kAttendTile; ++c) s[c] *= a.scale;
  if (a.softcap > 0.0f)
    for (uint32_t c = 0; c < kAttendTile; ++c) s[c] = a.softcap * tanh_f32(s[c] / a.softcap);
  if (st.first > tile || st.end < tile + kAttendTile)
    for (uint32_t c = 0; c < kAttendTile; ++c)
      // NOLINTNEXTLINE(bugprone-narrowing-conversions): it takes the infinity for a wider type
      s[c] = tile + c >= st.first && tile + c < st.end ? s[c] : kMinusInf;
  float highest[16];
  F lanes = set1(st.m);
  for (uint32_t c = 0; c < kAttendTile; c += 16) lanes = greater(load(s + c), lanes);
  store(highest, lanes);
#pragma GCC unroll 4
  for (uint32_t half = 8; half; half /= 2)
    for (uint32_t i = 0; i < half; ++i)
      highest[i] = highest[i + half] > highest[i] ? highest[i + half] : highest[i];
  return highest[0];
}

// To probabilities, which are returned summed.
inline float exp_scores(const AttendArgs& a, float* s, float m) {
  for (uint32_t c = 0; c < kAttendTile; ++c) s[c] = exp_f32(s[c] - m);
  if (a.v_codec == RowCodec::bf16)
    for (uint32_t c = 0; c < kAttendTile; ++c) s[c] = round_bf16(s[c]);
  float total = sum(load(s));
  for (uint32_t c = 16; c < kAttendTile; c += 16) total += sum(load(s + c));
  return total;
}

// Where the keys begin and end that some row sees; none: begin >= end. Sets the rows' states.
struct VisibleKeys {
  uint32_t begin, end;
};
inline VisibleKeys begin_rows(const AttendArgs& a, RowState* state) {
  VisibleKeys all = {UINT32_MAX, 0};
  const uint32_t n_rows = a.n_tokens * a.group, chunk_end = a.chunk_begin + kAttendChunk;
  for (uint32_t i = 0; i < n_rows; ++i) {
    const uint32_t pos = a.pos + i / a.group;
    RowState& st = state[i];
    st = {kMinusInf, 0.0f, 1.0f, 0, pos + 1};
    if (a.window && pos + 1 > a.window) st.first = pos + 1 - a.window;
    if (st.first < a.chunk_begin) st.first = a.chunk_begin;
    if (st.end > chunk_end) st.end = chunk_end;
    if (st.first < st.end) {
      all.begin = st.first < all.begin ? st.first : all.begin;
      all.end = st.end > all.end ? st.end : all.end;
    }
  }
  return all;
}
inline const float* query_row(const AttendArgs& a, uint32_t i) {
  return a.q + i / a.group * a.q_token_stride + i % a.group * a.d_k;
}

// Keys of a tile from `tile` on that are looked at: those beyond the last visible one have p = 0, and whole groups of 32 of them change
// nothing.
struct TileKeys {
  uint32_t columns;  // of q.K, a multiple of 16
  uint32_t depth;    // of p V, 32 or 64
  TileKeys(uint32_t tile, uint32_t end) {
    const uint32_t used = end - tile < kAttendTile ? end - tile : kAttendTile;
    columns = (used + 15) / 16 * 16;
    depth = used <= 32 ? 32 : 64;
  }
};

// Scores of all rows [row][64], of which only the first `columns` are there, to probabilities; m, l and alpha move. The rows' factors
// alpha are made together: one alone would take as long as all scores of its row.
inline void softmax_rows(const AttendArgs& a, RowState* state, float* scores, uint32_t tile,
                         uint32_t columns) {
  const uint32_t n_rows = a.n_tokens * a.group;
  float highest[kMaxAttendRows], alpha[kMaxAttendRows] = {};
  for (uint32_t i = 0; i < n_rows; ++i) {
    float* s = scores + i * kAttendTile;
    for (uint32_t c = columns; c < kAttendTile; ++c) s[c] = 0.0f;
    if (sees_nothing(state[i], tile)) continue;  // alpha is exp(0)
    highest[i] = scale_scores(a, state[i], s, tile);
    alpha[i] = state[i].m - highest[i];
  }
  static_assert(kMaxAttendRows % 16 == 0);
  for (uint32_t i = 0; i < pad_to_16(n_rows); ++i) alpha[i] = exp_f32(alpha[i]);
  for (uint32_t i = 0; i < n_rows; ++i) {
    float* s = scores + i * kAttendTile;
    RowState& st = state[i];
    st.alpha = alpha[i];
    if (sees_nothing(st, tile)) {
      for (uint32_t c = 0; c < kAttendTile; ++c) s[c] = 0.0f;
      continue;
    }
    st.m = highest[i];
    st.l = __builtin_fmaf(st.l, st.alpha, exp_scores(a, s, st.m));
  }
}

void attend(const AttendArgs& a) {
  const uint32_t n_rows = a.n_tokens * a.group;
  const uint32_t q_stride = pad_to_16(a.d_k);
  AttendScratch w;
  w.q = reinterpret_cast<float*>(a.scratch);
  w.s = w.q + size_t{kMaxAttendRows} * q_stride;

  RowState state[kMaxAttendRows];
  const VisibleKeys keys = begin_rows(a, state);
  for (uint32_t i = 0; i < n_rows; ++i) {
    const float* q = query_row(a, i);
    float* to = w.q + i * q_stride;
    if (a.k_codec == RowCodec::bf16) {
      for (uint32_t j = 0; j < a.d_k; ++j) to[j] = round_bf16(q[j]);
    } else {
      for (uint32_t j = 0; j < a.d_k; ++j) to[j] = q[j];
    }
    for (uint32_t j = a.d_k; j < q_stride; ++j) to[j] = 0.0f;
    float* part = a.parts + i * a.part_stride;
    for (uint32_t j = 0; j < a.d_v; j += 16) store(part + j, zero());
  }

  const uint32_t t_block = a.block_tokens;
  const bool v_pairs = a.v_codec == RowCodec::bf16;
  const size_t k_line = size_t{t_block} * (a.k_codec == RowCodec::f16 ? 2 : 4);  // bf16: pairs of d
  const size_t v_line =
      size_t{pad_to_16(a.d_v)} * (a.v_codec == RowCodec::f16 ? 2 : 4);  // bf16: pairs of keys
  const uint32_t n_blocks = kAttendTile / t_block;
  const auto blocks_of = [&](uint32_t tile) { return a.blocks + (tile - a.chunk_begin) / t_block; };
  for (uint32_t tile = keys.begin / kAttendTile * kAttendTile; tile < keys.end;
       tile += kAttendTile) {
    const uint8_t* k_base[4];
    const uint8_t* v_base[4];
    Lines k_lines[4];
    for (uint32_t b = 0; b < n_blocks; ++b) {
      k_base[b] = blocks_of(tile)[b];
      v_base[b] = k_base[b] + a.v_at;
      k_lines[b] = {k_base + b, v_base + b, 31, k_line};
    }
    const auto log2_block = static_cast<uint32_t>(__builtin_ctz(t_block));
    const Lines v_lines = {v_base,
                           tile + kAttendTile < keys.end ? blocks_of(tile + kAttendTile) : k_base,
                           v_pairs ? log2_block - 1 : log2_block, v_line};
    const TileKeys seen(tile, keys.end);
    all_rows(a, w, state, n_rows, q_stride, k_lines, seen.columns, seen.depth, v_lines, false);
    softmax_rows(a, state, w.s, tile, seen.columns);
    all_rows(a, w, state, n_rows, q_stride, k_lines, 0, seen.depth, v_lines, true);
  }
  for (uint32_t i = 0; i < n_rows; ++i) {
    float* part = a.parts + i * a.part_stride;
    for (uint32_t j = 0; j < a.d_v; j += 16)
      store(part + j, add(load(part + j), zero()));  // -0 to +0
    part[pad_to_16(a.d_v)] = state[i].m;
    part[pad_to_16(a.d_v) + 1] = state[i].l;
  }
}

// l is 0 for a part without a visible key (else the highest key alone gives 1): such a part joins as nothing.
void merge_parts(float* into, const float* part, uint32_t d_v) {
  const uint32_t at = pad_to_16(d_v);
  if (part[at + 1] == 0.0f) return;
  if (into[at + 1] == 0.0f) {
    for (uint32_t j = 0; j < at + 2; ++j) into[j] = part[j];
    return;
  }
  const float m_into = into[at], m_part = part[at];
  const float m = m_part > m_into ? m_part : m_into;
  const float a = exp_f32(m_into - m), b = exp_f32(m_part - m);
  for (uint32_t j = 0; j < d_v; j += 16)
    store(into + j, fma(load(into + j), set1(a), mul(load(part + j), set1(b))));
  into[at] = m;
  into[at + 1] = __builtin_fmaf(into[at + 1], a, part[at + 1] * b);
}

void finish_part(const float* part, float* out, uint32_t d_v) {
  const float inverse = 1.0f / part[pad_to_16(d_v) + 1];
  for (uint32_t j = 0; j < d_v; ++j) out[j] = part[j] * inverse;
}
