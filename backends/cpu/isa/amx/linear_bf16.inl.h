// AMX bf16: BF16 weights, class b16x2 (docs/NUMERICS.md). x = high + low in bf16; each 32 k are two products of tiles, high first, into
// sums that stay in the tiles over a whole stripe. Any number of rows: a tile has as many as there are, or the last block begins early, so
// that it has 16.
//
//   tiles 0 .. 3: sums of up to four blocks of rows      4, 5: a block's high and low      6: 32 k of the panel, lines [16 outputs][2 k]

struct SplitBlocks {
  uint32_t row[4];
  uint32_t skip[4];  // rows that belong to the block before
  uint32_t n_rows;   // of each
  size_t panel_bytes;
};

template <int kTile>
inline void multiply_split(const LinearArgs& a, uint32_t row, uint32_t k) {
  const uint8_t* in = a.in + row * a.in_stride + k * 2;
  load_tile<4>(in, a.in_stride);
  load_tile<5>(in + a.form->low_at, a.in_stride);
  multiply_bf16_tiles<kTile, 4, 6>();
  multiply_bf16_tiles<kTile, 5, 6>();
}

template <int kTile>
inline void add_split(const LinearArgs& a, const SplitBlocks& blocks) {
  alignas(64) float sums[kTileRows][kPanelRows];
  store_tile<kTile>(sums[0], sizeof sums[0]);
  for (uint32_t i = blocks.skip[kTile]; i < blocks.n_rows; ++i) {
    float* out = a.out + (blocks.row[kTile] + i) * kPanelRows;
    store(out, add(load(out), load(sums[i])));
  }
}

// k of [begin, end), multiples of 32. Of few rows the lines kAhead are asked for, of more those of the panel behind, into the second cache.
template <int N>
void split_stripe(const LinearArgs& a, const SplitBlocks& blocks, uint32_t begin, uint32_t end) {
  constexpr size_t kLines = 16, kAhead = 4096;
  zero_tile<0>();
  if constexpr (N > 1) zero_tile<1>();
  if constexpr (N > 2) zero_tile<2>();
  if constexpr (N > 3) zero_tile<3>();
  for (uint32_t k = begin; k < end; k += 32) {
    const uint8_t* weights = a.panel + size_t{k} * kPanelRows * 2;
    if (blocks.row[0] == 0) {
#pragma GCC unroll 16
      for (size_t i = 0; i < kLines; ++i)
        if constexpr (N == 1)
          __builtin_prefetch(weights + kAhead + i * 64);
        else
          __builtin_prefetch(weights + blocks.panel_bytes + i * 64, 0, 2);
    }
    load_tile<6>(weights, 64);
    multiply_split<0>(a, blocks.row[0], k);
    if constexpr (N > 1) multiply_split<1>(a, blocks.row[1], k);
    if constexpr (N > 2) multiply_split<2>(a, blocks.row[2], k);
    if constexpr (N > 3) multiply_split<3>(a, blocks.row[3], k);
  }
  add_split<0>(a, blocks);
  if constexpr (N > 1) add_split<1>(a, blocks);
  if constexpr (N > 2) add_split<2>(a, blocks);
  if constexpr (N > 3) add_split<3>(a, blocks);
}

void linear_split(const LinearArgs& a) {
  clear_sums(a);
  const uint32_t tile_rows = a.n_rows < kTileRows ? a.n_rows : kTileRows;
  const uint32_t n_blocks = (a.n_rows + kTileRows - 1) / kTileRows, last = a.n_rows - tile_rows;
  shape_tiles<64>(tile_rows);
  const uint32_t n_super = n_superblocks(a.k), padded = (a.k + 31) / 32 * 32;
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s) * kSuperblock;
    const uint32_t edge = stripe_edge(n_super, s + 1) * kSuperblock;
    const uint32_t end = edge < padded ? edge : padded;
    if (begin >= end) continue;
    for (uint32_t block = 0; block < n_blocks; block += 4) {
      const uint32_t n = n_blocks - block < 4 ? n_blocks - block : 4;
      SplitBlocks blocks;
      blocks.n_rows = tile_rows;
      blocks.panel_bytes = size_t{padded} * kPanelRows * 2;
      for (uint32_t t = 0; t < n; ++t) {
        const uint32_t first = (block + t) * kTileRows;
        blocks.row[t] = first < last ? first : last;
        blocks.skip[t] = first - blocks.row[t];
      }
      if (n == 1) split_stripe<1>(a, blocks, begin, end);
      if (n == 2) split_stripe<2>(a, blocks, begin, end);
      if (n == 3) split_stripe<3>(a, blocks, begin, end);
      if (n == 4) split_stripe<4>(a, blocks, begin, end);
    }
  }
  release_tiles();
}
