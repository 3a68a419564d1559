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
//   T::superblock<N>                      acc of N blocks of rows with one superblock

constexpr uint32_t kTileRows = 16;

// As LDTILECFG reads it.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// The registers' shapes, until release_tiles(). No object with a destructor does that: the code for exceptions would be an export.
template <uint32_t kDepth>
inline void shape_tiles() {
  TileConfig config;
  for (uint32_t t = 0; t < 8; ++t) {
    const bool is_a = t == 4 || t == 5, is_b = t == 6 || t == 7;
    config.row_bytes[t] = is_a ? kDepth : 64;
    config.rows[t] = is_b ? kDepth / 4 : kTileRows;
  }
  load_tile_config(&config);
}

using TileSums = int32_t[kTileRows][kPanelRows];
using RowSums = float[kTileRows][kPanelRows];

inline const uint8_t* tile_input(const LinearArgs& a, uint32_t row, uint32_t k) {
  return a.in + row * a.in_stride + k;
}

template <uint32_t N, uint32_t kPlanes = 2>
inline void clear_tiles() {
  zero_tile<0>();
  if constexpr (kPlanes == 2) zero_tile<1>();
  if constexpr (N == 2) zero_tile<2>();
  if constexpr (N == 2 && kPlanes == 2) zero_tile<3>();
}
template <uint32_t N, uint32_t kPlanes = 2>
inline void store_tiles(TileSums (*sums)[2]) {
  constexpr size_t kStride = sizeof(int32_t) * kPanelRows;
  store_tile<0>(sums[0][0], kStride);
  if constexpr (kPlanes == 2) store_tile<1>(sums[0][1], kStride);
  if constexpr (N == 2) store_tile<2>(sums[1][0], kStride);
  if constexpr (N == 2 && kPlanes == 2) store_tile<3>(sums[1][1], kStride);
}

// Blocks of rows block .. block + N - 1 over one stripe, added to a.out. The last block of the input begins early, so that it has 16
// rows too: those that the block before has are computed again, and left out here.
template <class T, uint32_t N>
void tile_stripe(const LinearArgs& a, const typename T::Expanded* e, uint32_t block, uint32_t begin,
                 uint32_t end) {
  const uint32_t last = a.n_rows - kTileRows;
  uint32_t row[N];
  alignas(64) RowSums acc[N];
  for (uint32_t t = 0; t < N; ++t) {
    const uint32_t first = (block + t) * kTileRows;
    row[t] = first < last ? first : last;
    for (float* sums : acc[t]) store(sums, zero());
  }
  for (uint32_t b = begin; b < end; ++b) T::template superblock<N>(a, row, e[b - begin], b, acc);
  for (uint32_t t = 0; t < N; ++t)
    for (uint32_t i = (block + t) * kTileRows - row[t]; i < kTileRows; ++i) {
      float* out = a.out + (row[t] + i) * kPanelRows;
      store(out, add(load(out), load(acc[t][i])));
    }
}

template <class T>
void linear_tiles(const LinearArgs& a) {
  if (a.n_rows < kTileRows) {
    linear_a8<typename T::Few>(a);
    return;
  }
  clear_sums(a);
  shape_tiles<T::kDepth>();
  const uint32_t n_super = n_superblocks(a.k), n_blocks = (a.n_rows + kTileRows - 1) / kTileRows;
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s), end = stripe_edge(n_super, s + 1);
    if (begin == end) continue;
    const typename T::Expanded* e = expand_stripe<T>(a, begin, end);
    uint32_t block = 0;
    for (; block + 2 <= n_blocks; block += 2) tile_stripe<T, 2>(a, e, block, begin, end);
    if (block < n_blocks) tile_stripe<T, 1>(a, e, block, begin, end);
  }
  release_tiles();
}
