// AMX bf16: BF16 weights, class b16x2 (docs/NUMERICS.md). x = high + low in bf16; each 32 k are two products of tiles, high first, into
// sums that stay in the tiles over a whole stripe. Any number of rows: a tile has as many as there are, or the last block begins early, so
// that it has 16.
//
//   tiles 0 .. 3: sums of up to four blocks of rows      4, 5: a block's high and low      6: 32 k of the panel, lines [16 outputs][2 k]

template <int kTile>
inline void multiply_split(const LinearArgs& a, uint32_t row, uint32_t k) {
  const uint8_t* in = a.in + row * a.in_stride + k * 2;
  load_tile<4>(in, a.in_stride);
  load_tile<5>(in + a.form->low_at, a.in_stride);
  multiply_bf16_tiles<kTile, 4, 6>();
  multiply_bf16_tiles<kTile, 5, 6>();
}

template <int kTile>
inline void add_split(const LinearArgs& a, const TileRows& rows, uint32_t n_rows) {
  alignas(64) float sums[kTileRows][kPanelRows];
  store_tile<kTile>(sums[0], sizeof sums[0]);
  for (uint32_t i = rows.skip; i < n_rows; ++i) {
    float* out = a.out + (rows.row + i) * kPanelRows;
    store(out, add(load(out), load(sums[i])));
  }
}

// k of [begin, end), multiples of 32. Of few rows the lines kAhead are asked for, of more those of the panel behind, into the second cache.
template <int N>
void split_stripe(const LinearArgs& a, const TileRows* rows, uint32_t tile_rows, size_t panel_bytes,
                  uint32_t begin, uint32_t end) {
  constexpr size_t kLines = 16, kAhead = 4096;
  each_tile<N>([]<int t>() { zero_tile<t>(); });
  for (uint32_t k = begin; k < end; k += 32) {
    const uint8_t* weights = a.panel + size_t{k} * kPanelRows * 2;
    if (rows[0].row == 0) {
#pragma GCC unroll 16
      for (size_t i = 0; i < kLines; ++i)
        if constexpr (N == 1)
          __builtin_prefetch(weights + kAhead + i * 64);
        else
          __builtin_prefetch(weights + panel_bytes + i * 64, 0, 2);
    }
    load_tile<6>(weights, 64);
    each_tile<N>([&]<int t>() { multiply_split<t>(a, rows[t].row, k); });
  }
  each_tile<N>([&]<int t>() { add_split<t>(a, rows[t], tile_rows); });
}

void linear_split(const LinearArgs& a) {
  clear_sums(a);
  const uint32_t tile_rows = a.n_rows < kTileRows ? a.n_rows : kTileRows;
  const uint32_t n_blocks = (a.n_rows + kTileRows - 1) / kTileRows;
  shape_tiles<64>(tile_rows);
  const uint32_t n_super = n_superblocks(a.k), padded = (a.k + 31) / 32 * 32;
  const size_t panel_bytes = size_t{padded} * kPanelRows * 2;
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s) * kSuperblock;
    const uint32_t edge = stripe_edge(n_super, s + 1) * kSuperblock;
    const uint32_t end = edge < padded ? edge : padded;
    if (begin >= end) continue;
    for (uint32_t block = 0; block < n_blocks; block += 4) {
      const uint32_t n = n_blocks - block < 4 ? n_blocks - block : 4;
      TileRows rows[4];
      for (uint32_t t = 0; t < n; ++t) rows[t] = tile_rows_of(a.n_rows, tile_rows, block + t);
      with_tiles(n, [&]<int N>() { split_stripe<N>(a, rows, tile_rows, panel_bytes, begin, end); });
    }
  }
  release_tiles();
}
