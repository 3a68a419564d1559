// AMX int8: two panels times 16 rows and more, for a type T of types_k.inl.h or types_32.inl.h. A tile of sums is 16 rows of the input
// times a panel's 16 outputs. A, the input, is read where it lies, B is lines [16 outputs][4 k] of an expanded superblock.
//
// What limits 256-block types are the lines between the first two caches (measured: without them twice as fast; of 32-block types:
// types_32.inl.h). So a superblock of both panels is
// expanded and stays in the first cache, and all rows pass over it: each block of rows is fetched once for two panels, their sums go to
// and fro. T brings
//   T::kBytes, T::Expanded, T::expand     as for kernels/linear_a8.inl.h
//   T::Few                                the type of avx512/linear_k.inl.h or linear_32.inl.h that takes fewer rows
//   T::kDepth                             k of one product of tiles
//   T::pass<kWhole>                       all rows with a superblock (TilePass)

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

using TileSums =
    int32_t[kTileRows]
           [kPanelRows];  // of a block of rows with a panel: a plane's, or a block's of 32 k

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

// A row's sum goes on from the stripe's superblocks before, where goes_on says that there are any. kWhole: the stripe has one superblock
// alone, and its sum goes to what the stripes before left.
template <bool kWhole>
[[gnu::always_inline]] inline __m512 sum_before(const float* to, __mmask16 goes_on) {
  if constexpr (kWhole) return _mm512_setzero_ps();
  return _mm512_maskz_load_ps(goes_on, to);
}
template <bool kWhole>
[[gnu::always_inline]] inline void put_sum(float* to, __m512 sum) {
  if constexpr (kWhole) sum = _mm512_add_ps(_mm512_load_ps(to), sum);
  _mm512_store_ps(to, sum);
}

// What all blocks of rows share in a pass over superblock b of one panel or two. Where there is one, the second is the first one again, and
// its sums, if they are made, go nowhere.
template <class T>
struct TilePass {
  const LinearArgs& args;
  const typename T::Expanded* e[kMostPanels];
  float* sums[kMostPanels];  // [n_blocks][kTileRows][kPanelRows]
  uint32_t b, n_blocks;
  __mmask16 goes_on;  // all lanes: the stripe has had superblocks before

  const uint8_t* in(uint32_t block) const {
    return args.in + tile_rows_of(args.n_rows, kTileRows, block).row * args.in_stride;
  }
  float* to(uint32_t panel, uint32_t block) const {
    return sums[panel] + block * (kTileRows * kPanelRows);
  }
};

template <class T>
void linear_tiles(const LinearArgs& a) {
  if (a.n_rows < kTileRows) {
    LinearArgs one = a;
    one.n_panels = 1;
    for (uint32_t p = 0; p < a.n_panels; ++p) {
      linear_a8<typename T::Few>(one);
      one.panel += a.panel_stride;
      one.out += a.n_rows * kPanelRows;
    }
    return;
  }
  shape_tiles<T::kDepth>();
  auto* e = reinterpret_cast<typename T::Expanded*>(a.scratch);
  const uint32_t n_super = n_superblocks(a.k), n_blocks = (a.n_rows + kTileRows - 1) / kTileRows;
  const size_t n_sums = size_t{n_blocks} * kTileRows * kPanelRows;
  // Sums of a stripe and of all stripes, each of both panels. The latter are a.out itself where that has whole blocks of rows of both.
  auto* stripe = reinterpret_cast<float*>(e + kMostPanels);
  const bool total_is_out = a.n_rows % kTileRows == 0 && a.n_panels == kMostPanels;
  float* total = total_is_out ? a.out : stripe + kMostPanels * n_sums;
  for (size_t i = 0; i < kMostPanels * n_sums; i += 16) store(total + i, zero());
  TilePass<T> pass{a, {e, e + a.n_panels - 1}, {}, 0, n_blocks, 0};
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s), end = stripe_edge(n_super, s + 1);
    const bool whole = begin + 1 == end;
    for (uint32_t p = 0; p < kMostPanels; ++p) pass.sums[p] = (whole ? total : stripe) + p * n_sums;
    for (pass.b = begin; pass.b < end; ++pass.b) {
      for (uint32_t p = 0; p < a.n_panels; ++p)
        expand_superblock<T>(a.k, a.panel + p * a.panel_stride, a.n_panels * a.panel_stride, pass.b,
                             e[p]);
      pass.goes_on = pass.b == begin ? 0 : 0xffff;
      if (whole)
        T::template pass<true>(pass);
      else
        T::template pass<false>(pass);
    }
    if (begin < end && !whole)
      for (size_t i = 0; i < kMostPanels * n_sums; i += 16)
        store(total + i, add(load(total + i), load(stripe + i)));
  }
  release_tiles();
  if (total_is_out) return;
  // Rows of the last block that are the block before's stand there twice.
  const TileRows last = tile_rows_of(a.n_rows, kTileRows, n_blocks - 1);
  for (uint32_t p = 0; p < a.n_panels; ++p) {
    float* out = a.out + p * a.n_rows * kPanelRows;
    const float* from = total + p * n_sums;
    const size_t n_before = (n_blocks - 1) * kTileRows * kPanelRows;
    __builtin_memcpy(out, from, n_before * sizeof(float));
    __builtin_memcpy(out + n_before, from + n_before + last.skip * kPanelRows,
                     (kTileRows - last.skip) * kPanelRows * sizeof(float));
  }
}
