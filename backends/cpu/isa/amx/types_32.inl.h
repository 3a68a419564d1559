// AMX int8, 32-block types. Each block of 32 k has a float scale, so its sums leave the tiles after one product, half as deep as a tile
// can be. The two planes are two neighbouring blocks; codes are signed, without bias.

template <int kBits, bool kMin, int kBias>
struct TileB32 {
  using Few = B32<kBits, kMin, kBias>;
  static constexpr uint32_t kBytes = Few::kBytes, kDepth = 32;
  static constexpr uint32_t kPlanes = 8, kBlocks = 1;  // a plane for each block of the superblock
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

  static uint32_t n_blocks(uint32_t k, uint32_t b) {
    const uint32_t left = (k - b * 256) / 32;
    return left < 8 ? left : 8;
  }

  // Block j, into tile j mod 4, whose sums are of block j - 4 until then.
  template <uint32_t j>
  static void multiply_block(const LinearArgs& a, const uint8_t* in, const Expanded& e,
                             TileSums* sums) {
    constexpr int kSums = j % 4, kA = 4 + j % 2, kB = 6 + j % 2;
    load_tile<kA>(in + j * 32, a.in_stride);
    load_tile<kB>(e.code[j * 8], 64);
    if constexpr (j >= 4) store_sums<kSums>(sums[j - 4]);
    zero_tile<kSums>();
    multiply_signed_tiles<kSums, kA, kB>();
  }
  template <uint32_t j>
  static void multiply_blocks(const LinearArgs& a, const uint8_t* in, const Expanded& e, uint32_t n,
                              TileSums* sums) {
    if constexpr (j < kPlanes) {
      if (j == n) return;
      multiply_block<j>(a, in, e, sums);
      multiply_blocks<j + 1>(a, in, e, n, sums);
    }
  }
  // The last block whose sums are in the tile.
  template <uint32_t kSums>
  static void store_last(uint32_t n, TileSums* sums) {
    if (kSums < n) store_sums<kSums>(sums[(n - 1 - kSums) / 4 * 4 + kSums]);
  }
  template <uint32_t N>
  static void multiply(const LinearArgs& a, const uint8_t* const* in, const Expanded& e, uint32_t b,
                       TileSums (*sums)[kPlanes]) {
    static_assert(N == 1);
    const uint32_t n = n_blocks(a.k, b);
    multiply_blocks<0>(a, in[0] + b * 256, e, n, sums[0]);
    store_last<0>(n, sums[0]);
    store_last<1>(n, sums[0]);
    store_last<2>(n, sums[0]);
    store_last<3>(n, sums[0]);
  }

  struct Join {
    const Expanded& e;
    size_t dx_at, sum_at;
    uint32_t n;
    Join(const LinearArgs& a, const Expanded& expanded, uint32_t b)
        : e(expanded),
          dx_at(a.form->dx_at + b * 32),
          sum_at(a.form->sum_at + b * 32),
          n(n_blocks(a.k, b)) {}
    __m512 block(const uint8_t* row, const TileSums* sums, uint32_t i, uint32_t j,
                 __m512 acc) const {
      return Few::joined(e.d[j], kMin ? e.m[j] : _mm512_setzero_ps(), row + dx_at + j * 4,
                         row + sum_at + j * 4, _mm512_cvtepi32_ps(load512(sums[j][i])), acc);
    }
    __m512 operator()(const uint8_t* row, const TileSums* sums, uint32_t i, __m512 acc) const {
      if (n == 8) {
#pragma GCC unroll 8
        for (uint32_t j = 0; j < 8; ++j) acc = block(row, sums, i, j, acc);
      } else {
        for (uint32_t j = 0; j < n; ++j) acc = block(row, sums, i, j, acc);
      }
      return acc;
    }
  };
};
