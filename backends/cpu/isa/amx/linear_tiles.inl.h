// AMX int8: one panel times 16 rows and more, for a type T of types_k.inl.h or types_32.inl.h. A tile of sums is 16 rows of the input
// times the panel's 16 outputs. Two blocks of 16 rows times two planes of weights fill the eight registers, and need one load for each
// product:
//
//                     plane 0: tile 6     plane 1: tile 7
//   block 0: tile 4   sums: tile 0        sums: tile 1
//   block 1: tile 5   sums: tile 2        sums: tile 3
//
// A, the input, is read where it lies, B is lines [16 outputs][4 k] of an expanded superblock. T brings
//   T::kBytes, T::Expanded, T::expand     as for kernels/linear_a8.inl.h
//   T::Few                                the type of avx512/linear_k.inl.h or linear_32.inl.h that takes fewer rows
//   T::kDepth                             k of one product of tiles
//   T::n_parts                            how often a superblock fills the tiles
//   T::multiply<N>                        renews the tiles and makes the products of a step; calls `between` a few times
//   T::kJoinedAtOnce                      rows, a divisor of 16, that are joined between products
//   T::Join                               a row's sum with what a step's tiles said

constexpr uint32_t kTileRows = 16;

// As LDTILECFG reads it.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// The registers' shapes, until release_tiles(). No object with a destructor does that: the code for exceptions would be an export.
// rows: of the input's tiles and the sums'; kDepth: bytes of the input's.
template <uint32_t kDepth>
inline void shape_tiles(uint32_t rows = kTileRows) {
  TileConfig config;
  for (uint32_t t = 0; t < 8; ++t) {
    const bool is_a = t == 4 || t == 5, is_b = t == 6 || t == 7;
    config.row_bytes[t] = is_a ? kDepth : 64;
    config.rows[t] = static_cast<uint8_t>(is_b ? kDepth / 4 : rows);
  }
  load_tile_config(&config);
}

// f of tiles 0 .. kTiles - 1, at most four: their numbers are part of the instructions.
template <int kTiles, class Each>
[[gnu::always_inline]] inline void each_tile(const Each& f) {
  f.template operator()<0>();
  if constexpr (kTiles > 1) f.template operator()<1>();
  if constexpr (kTiles > 2) f.template operator()<2>();
  if constexpr (kTiles > 3) f.template operator()<3>();
}
template <class Take>
inline void with_tiles(uint32_t n, const Take& take) {
  if (n == 1) take.template operator()<1>();
  if (n == 2) take.template operator()<2>();
  if (n == 3) take.template operator()<3>();
  if (n == 4) take.template operator()<4>();
}

using TileSums = int32_t[kTileRows][kPanelRows];  // of a block of rows and a plane
using RowSums = float[kTileRows][kPanelRows];

template <int kTile>
inline void store_sums(TileSums& to) {
  store_tile<kTile>(to[0], sizeof(int32_t) * kPanelRows);
}

// The rows of a tile. The last block of the input begins early, so that it has as many as the others: those that the block before has
// are computed again, and left out.
struct TileRows {
  uint32_t row, skip;
};
inline TileRows tile_rows_of(uint32_t n_rows, uint32_t tile_rows, uint32_t block) {
  const uint32_t first = block * tile_rows, last = n_rows - tile_rows;
  const uint32_t row = first < last ? first : last;
  return {row, first - row};
}

// N blocks of rows over one stripe, added to a.out. Tiles work first and vectors then: a product of tiles takes the second port of the
// 512-bit vectors, so that doing both at once gains nothing.
template <class T, uint32_t N>
void tile_stripe(const LinearArgs& a, const typename T::Expanded* e, const TileRows* rows,
                 uint32_t begin, uint32_t end) {
  alignas(64) TileSums sums[N][T::kPlanes];
  alignas(64) RowSums acc[N];
  const uint8_t* in[N];
  for (uint32_t t = 0; t < N; ++t) in[t] = a.in + rows[t].row * a.in_stride;
  for (uint32_t b = begin; b < end; ++b) {
    T::template multiply<N>(a, in, e[b - begin], b, sums);
    const typename T::Join join(a, e[b - begin], b);
    for (uint32_t t = 0; t < N; ++t) {
      const uint8_t* x = in[t];
      for (uint32_t i = 0; i < kTileRows; ++i, x += a.in_stride) {
        const __m512 before = b == begin ? _mm512_setzero_ps() : _mm512_load_ps(acc[t][i]);
        _mm512_store_ps(acc[t][i], join(x, sums[t], i, before));
      }
    }
  }
  for (uint32_t t = 0; t < N; ++t)
    for (uint32_t i = rows[t].skip; i < kTileRows; ++i) {
      float* out = a.out + (rows[t].row + i) * kPanelRows;
      _mm512_store_ps(out, _mm512_add_ps(_mm512_load_ps(out), _mm512_load_ps(acc[t][i])));
    }
}

template <class T, uint32_t N>
uint32_t tile_blocks(const LinearArgs& a, const typename T::Expanded* e, uint32_t block,
                     uint32_t begin, uint32_t end) {
  const uint32_t n_blocks = (a.n_rows + kTileRows - 1) / kTileRows;
  for (; block + N <= n_blocks; block += N) {
    TileRows rows[N];
    for (uint32_t t = 0; t < N; ++t) rows[t] = tile_rows_of(a.n_rows, kTileRows, block + t);
    tile_stripe<T, N>(a, e, rows, begin, end);
  }
  return block;
}

template <class T>
void linear_tiles(const LinearArgs& a) {
  if (a.n_rows < kTileRows) {
    linear_a8<typename T::Few>(a);
    return;
  }
  clear_sums(a);
  shape_tiles<T::kDepth>();
  const uint32_t n_super = n_superblocks(a.k);
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s), end = stripe_edge(n_super, s + 1);
    if (begin == end) continue;
    const typename T::Expanded* e = expand_stripe<T>(a, begin, end);
    const uint32_t block = tile_blocks<T, T::kBlocks>(a, e, 0, begin, end);
    if constexpr (T::kBlocks > 1) tile_blocks<T, 1>(a, e, block, begin, end);
  }
  release_tiles();
}
