// AMX: attention of class b16 by tiles of bf16. Its order of sums is TDPBF16PS's own (docs/NUMERICS.md), so these are attend()'s bits.
//
//   tiles 0 .. 3: sums of 16 rows times 4 x 16 columns      tile 4: 16 rows of the left side, 32 deep      tile 5: 32 times 16 columns
//
// K and V lie in blocks as the right side wants them: [depth / 2][16 columns][2]. Rows are padded to whole tiles with zeros.

inline bool fits_tiles(const AttendArgs& a) {
  return a.k_codec == RowCodec::bf16 && a.v_codec == RowCodec::bf16 && a.d_k % 32 == 0 &&
         a.block_tokens >= 32;
}

struct TileScratch {
  uint16_t *q, *p;  // [rows][d_k], [rows][64]
  float *s, *o;     // [rows][64], [rows][d_v padded to 16]
  explicit TileScratch(const AttendArgs& a) {
    q = reinterpret_cast<uint16_t*>(a.scratch);
    p = q + size_t{kMaxAttendRows} * a.d_k;
    s = reinterpret_cast<float*>(p + size_t{kMaxAttendRows} * kAttendTile);
    o = s + size_t{kMaxAttendRows} * kAttendTile;
  }
};

// n values that are bf16 already.
inline void store_bf16(uint16_t* to, const float* from, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) to[i] = static_cast<uint16_t>(float_bits(from[i]) >> 16);
}

// A product's right side: 16 pairs of depth times 16 columns for each tile of sums, and what is needed after it, at the same places.
struct TileLines {
  const uint8_t* at[4];
  const uint8_t* next[4];
  size_t stride;
};

template <int kC, int kB>
inline void multiply_columns(const TileLines& lines, size_t offset, bool asks) {
  const uint8_t* right = lines.at[kC] + offset;
  load_tile<kB>(right, lines.stride);
  multiply_bf16_tiles<kC, 4, kB>();
  if (!asks) return;
  const uint8_t* next = lines.next[kC] + offset;
#pragma GCC unroll 16
  for (uint32_t i = 0; i < kTileRows; ++i) __builtin_prefetch(next + i * lines.stride);
}

// Tiles 0 .. kTiles - 1 += left [16][32] . right [32][16 kTiles], whose lines begin `offset` into each tile's.
template <int kTiles>
inline void multiply_step(const uint16_t* left, uint32_t left_stride, const TileLines& lines,
                          size_t offset, bool asks) {
  load_tile<4>(left, left_stride * sizeof(uint16_t));
  multiply_columns<0, 5>(lines, offset, asks);
  if constexpr (kTiles > 1) multiply_columns<1, 6>(lines, offset, asks);
  if constexpr (kTiles > 2) multiply_columns<2, 7>(lines, offset, asks);
  if constexpr (kTiles > 3) multiply_columns<3, 5>(lines, offset, asks);
}
// s = q . K of one tile of keys.
inline void score_tiles(const AttendArgs& a, const TileScratch& w, uint32_t n_row_tiles,
                        uint32_t n_columns, const TileLines& lines) {
  with_tiles(n_columns / 16, [&]<int kTiles>() {
    for (uint32_t r = 0; r < n_row_tiles; ++r) {
      each_tile<kTiles>([]<int c>() { zero_tile<c>(); });
      for (uint32_t d = 0; d < a.d_k; d += 32)
        multiply_step<kTiles>(w.q + r * kTileRows * a.d_k + d, a.d_k, lines, d / 2 * lines.stride,
                              r == 0);
      float* s = w.s + r * kTileRows * kAttendTile;
      each_tile<kTiles>([&]<int c>() { store_tile<c>(s + c * 16, kAttendTile * sizeof(float)); });
    }
  });
}

// o += p . V for the columns of up to four tiles from `column` on; halves: the two 32 keys' lines.
inline void value_tiles(const AttendArgs& a, const TileScratch& w, uint32_t n_row_tiles,
                        uint32_t column, uint32_t n_halves, const TileLines* halves) {
  const uint32_t o_stride = pad_to_16(a.d_v), left = (o_stride - column) / 16;
  with_tiles(left < 4 ? left : 4, [&]<int kTiles>() {
    for (uint32_t r = 0; r < n_row_tiles; ++r) {
      float* o = w.o + r * kTileRows * o_stride + column;
      each_tile<kTiles>([&]<int c>() { load_tile<c>(o + c * 16, o_stride * sizeof(float)); });
      for (uint32_t h = 0; h < n_halves; ++h)
        multiply_step<kTiles>(w.p + r * kTileRows * kAttendTile + h * 32, kAttendTile, halves[h], 0,
                              r == 0);
      each_tile<kTiles>([&]<int c>() { store_tile<c>(o + c * 16, o_stride * sizeof(float)); });
    }
  });
}

void attend_tiles(const AttendArgs& a) {
  if (!fits_tiles(a)) {
    attend(a);
    return;
  }
  const uint32_t n_rows = a.n_tokens * a.group;
  const uint32_t n_row_tiles = (n_rows + kTileRows - 1) / kTileRows,
                 padded = n_row_tiles * kTileRows;
  const uint32_t o_stride = pad_to_16(a.d_v), t_block = a.block_tokens;
  const TileScratch w(a);
  RowState state[kMaxAttendRows];
  const VisibleKeys keys = begin_rows(a, state);
  for (uint32_t i = 0; i < padded; ++i) {
    const float* q = i < n_rows ? query_row(a, i) : nullptr;
    uint16_t* to = w.q + i * a.d_k;
    for (uint32_t j = 0; j < a.d_k; ++j)
      to[j] = q ? static_cast<uint16_t>(float_bits(round_bf16(q[j])) >> 16) : uint16_t{0};
    for (uint32_t j = 0; j < o_stride; j += 16) store(w.o + i * o_stride + j, zero());
    if (!q)
      for (uint32_t c = 0; c < kAttendTile; ++c) w.p[i * kAttendTile + c] = 0;
  }

  const size_t k_line = size_t{t_block} * 4, v_line = size_t{o_stride} * 4;  // of pairs
  // The line of key `key` of a tile: of K, its column; of V, its pair.
  const auto k_at = [&](uint32_t tile, uint32_t key) {
    const uint32_t at = tile - a.chunk_begin + key;
    return a.blocks[at / t_block] + at % t_block * 4;
  };
  const auto v_at = [&](uint32_t tile, uint32_t key) {
    const uint32_t at = tile - a.chunk_begin + key;
    return a.blocks[at / t_block] + a.v_at + at % t_block / 2 * v_line;
  };
  shape_tiles<64>();
  for (uint32_t tile = keys.begin / kAttendTile * kAttendTile; tile < keys.end;
       tile += kAttendTile) {
    const TileKeys seen(tile, keys.end);
    TileLines k_lines;
    k_lines.stride = k_line;
    for (uint32_t c = 0; c < 4; ++c) {
      k_lines.at[c] = k_at(tile, c * 16);
      k_lines.next[c] = v_at(tile, c / 2 * 32) + c % 2 * (v_line / 2);
    }
    score_tiles(a, w, n_row_tiles, seen.columns, k_lines);
    softmax_rows(a, state, w.s, tile, seen.columns);
    for (uint32_t i = 0; i < n_rows; ++i) {
      store_bf16(w.p + i * kAttendTile, w.s + i * kAttendTile, kAttendTile);
      if (state[i].alpha == 1.0f) continue;
      float* o = w.o + i * o_stride;
      for (uint32_t j = 0; j < o_stride; j += 16)
        store(o + j, mul(load(o + j), set1(state[i].alpha)));
    }
    const uint32_t next_tile = tile + kAttendTile < keys.end ? tile + kAttendTile : tile;
    for (uint32_t column = 0; column < o_stride; column += 64) {
      TileLines halves[2];
      for (uint32_t h = 0; h < 2; ++h) {
        halves[h].stride = v_line;
        for (uint32_t c = 0; c < 4; ++c) {
          halves[h].at[c] = v_at(tile, h * 32) + (column + c * 16) * 4;
          halves[h].next[c] = k_at(next_tile, h * 32) + (column + c * 16) * 4;
        }
      }
      value_tiles(a, w, n_row_tiles, column, seen.depth / 32, halves);
    }
  }
  release_tiles();
  for (uint32_t i = 0; i < n_rows; ++i) {
    float* part = a.parts + i * a.part_stride;
    for (uint32_t j = 0; j < a.d_v; j += 16)
      store(part + j, add(load(w.o + i * o_stride + j), zero()));  // -0 to +0
    part[o_stride] = state[i].m;
    part[o_stride + 1] = state[i].l;
  }
}
