// AMX int8, 32-block types. Each block of 32 k has a float scale, so its sums leave the tiles after one product, half as deep as a tile
// can be. The two planes are two neighbouring blocks; codes are signed, without bias.

template <int kBits, bool kMin, int kBias>
struct TileB32 {
  using Few = B32<kBits, kMin, kBias>;
  static constexpr uint32_t kBytes = Few::kBytes, kDepth = 32;
  using Expanded = Expanded32;

  static void expand(const uint8_t* sb, uint32_t n, Expanded& e) {
    const __m512i bias = _mm512_set1_epi8(static_cast<char>(kBias));
    for (uint32_t j = 0; j < n; ++j) {
      const __m512i plane = Few::plane(sb, n, j);
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z) {
        Quads c = Few::codes(sb, j, plane, z);
        if constexpr (kBias != 0)
          for (__m512i& w : c.w) w = _mm512_sub_epi8(w, bias);
        store_quads(e.code[j * 8 + static_cast<uint32_t>(z) * 2], c);
      }
      e.d[j] = half_scales(Few::d_at(sb, n, j));
      if constexpr (kMin) e.m[j] = half_scales(Few::m_at(sb, n, j));
    }
  }

  // kPlanes blocks of superblock b, from block j on.
  template <uint32_t N, uint32_t kPlanes>
  static void blocks(const LinearArgs& a, const uint32_t* row, const Expanded& e, uint32_t b,
                     uint32_t j, RowSums* acc) {
    alignas(64) TileSums sums[N][2];
    const uint32_t k = b * 256 + j * 32;
    clear_tiles<N, kPlanes>();
    load_tile<6>(e.code[j * 8], 64);
    load_tile<4>(tile_input(a, row[0], k), a.in_stride);
    multiply_signed_tiles<0, 4, 6>();
    if constexpr (N == 2) {
      load_tile<5>(tile_input(a, row[1], k), a.in_stride);
      multiply_signed_tiles<2, 5, 6>();
    }
    if constexpr (kPlanes == 2) {
      load_tile<7>(e.code[j * 8 + 8], 64);
      load_tile<4>(tile_input(a, row[0], k + 32), a.in_stride);
      multiply_signed_tiles<1, 4, 7>();
      if constexpr (N == 2) {
        load_tile<5>(tile_input(a, row[1], k + 32), a.in_stride);
        multiply_signed_tiles<3, 5, 7>();
      }
    }
    store_tiles<N, kPlanes>(sums);
    for (uint32_t t = 0; t < N; ++t)
      for (uint32_t i = 0; i < kTileRows; ++i) {
        const InputRows<1> in(a, row[t] + i);
        __m512 sum = _mm512_load_ps(acc[t][i]);
        for (uint32_t p = 0; p < kPlanes; ++p)
          sum = Few::joined(a, in, 0, e.d[j + p], kMin ? e.m[j + p] : _mm512_setzero_ps(),
                            b * 8 + j + p, _mm512_cvtepi32_ps(load512(sums[t][p][i])), sum);
        _mm512_store_ps(acc[t][i], sum);
      }
  }

  template <uint32_t N>
  static void superblock(const LinearArgs& a, const uint32_t* row, const Expanded& e, uint32_t b,
                         RowSums* acc) {
    const uint32_t left = (a.k - b * 256) / 32, n = left < 8 ? left : 8;
    uint32_t j = 0;
    for (; j + 2 <= n; j += 2) blocks<N, 2>(a, row, e, b, j, acc);
    if (j < n) blocks<N, 1>(a, row, e, b, j, acc);
  }
};
