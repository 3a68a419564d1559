// AMX int8, 256-block types. I = sum_j sc_j sum(c q) must come out of tiles that know of no sub-blocks, so the sub-scales go into the
// weights, and those into two planes of bytes:
//
//   w = sc c = 256 high + low,  low 0 .. 255,  high signed;      I = 256 sum(high q) + sum(low q)
//
// |w| <= 63 * 31 (Q4_K, Q5_K: c unsigned) and <= 128 * 32 (Q6_K: c signed), so high is within +-16; over 256 k each sum is below 2^24.

struct alignas(64) Planes {
  uint8_t low[64][64], high[64][64];  // [k/4][output][k%4]
};

// One sub-scale of each output, from int32 lanes: as the second factor of _mm512_maddubs_epi16, which multiplies with it the even or the
// odd bytes of unsigned codes, and as int16.
struct SubScale {
  __m512i even, odd, words;
  explicit SubScale(__m512i s) {
    words =
        _mm512_or_si512(_mm512_and_si512(s, _mm512_set1_epi32(0xffff)), _mm512_slli_epi32(s, 16));
    even = _mm512_and_si512(words, _mm512_set1_epi16(0xff));
    odd = _mm512_slli_epi16(words, 8);
  }
};

// 8 k of (c - kBias) sc into the planes, from line on.
template <int kBias>
inline void store_products(Planes& w, uint32_t line, const Quads& c, const SubScale& s) {
  constexpr __mmask64 kOddBytes = 0xaaaaaaaaaaaaaaaau;
#pragma GCC unroll 2
  for (uint32_t i = 0; i < 2; ++i) {
    __m512i even = _mm512_maddubs_epi16(c.w[i], s.even), odd = _mm512_maddubs_epi16(c.w[i], s.odd);
    if constexpr (kBias != 0) {
      static_assert(kBias == 32);
      even = _mm512_sub_epi16(even, _mm512_slli_epi16(s.words, 5));
      odd = _mm512_sub_epi16(odd, _mm512_slli_epi16(s.words, 5));
    }
    _mm512_store_si512(w.low[line + i],
                       _mm512_mask_blend_epi8(kOddBytes, even, _mm512_slli_epi16(odd, 8)));
    _mm512_store_si512(w.high[line + i],
                       _mm512_mask_blend_epi8(kOddBytes, _mm512_srli_epi16(even, 8), odd));
  }
}

// sums[block][plane] of superblock b.
template <uint32_t N>
inline void multiply_planes(const LinearArgs& a, const uint32_t* row, uint32_t b, const Planes& w,
                            TileSums (*sums)[2]) {
  clear_tiles<N>();
  for (uint32_t k = 0; k < 256; k += 64) {
    load_tile<6>(w.low[k / 4], 64);
    load_tile<4>(tile_input(a, row[0], b * 256 + k), a.in_stride);
    multiply_unsigned_tiles<0, 4, 6>();
    load_tile<7>(w.high[k / 4], 64);
    multiply_signed_tiles<1, 4, 7>();
    if constexpr (N == 2) {
      load_tile<5>(tile_input(a, row[1], b * 256 + k), a.in_stride);
      multiply_unsigned_tiles<2, 5, 6>();
      multiply_signed_tiles<3, 5, 7>();
    }
  }
  store_tiles<N>(sums);
}
// I of row i.
inline __m512i joined_planes(const TileSums* sums, uint32_t i) {
  return _mm512_add_epi32(_mm512_slli_epi32(load512(sums[1][i]), 8), load512(sums[0][i]));
}

// A superblock of N tiles joins their sums; Few is the type for few rows, scales what its joined() takes.
template <class Few, uint32_t N, class Scales>
inline void add_planes(const LinearArgs& a, const uint32_t* row, const Planes& w,
                       const Scales& scales, uint32_t b, RowSums* acc) {
  alignas(64) TileSums sums[N][2];
  multiply_planes<N>(a, row, b, w, sums);
  for (uint32_t t = 0; t < N; ++t)
    for (uint32_t i = 0; i < kTileRows; ++i)
      _mm512_store_ps(acc[t][i], Few::joined(a, InputRows<1>(a, row[t] + i), 0, scales, b,
                                             joined_planes(sums[t], i), _mm512_load_ps(acc[t][i])));
}

template <bool kFive>
struct TileK4 {
  using Few = K4<kFive>;
  static constexpr uint32_t kBytes = Few::kBytes, kDepth = 64;
  struct Expanded {
    Planes w;
    K4Scales scales;
  };
  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    unpack_k4_scales(sb + Few::At::kScalesAt, e.scales);
    for (uint32_t g = 0; g < 8; ++g) {
      const SubScale scale(e.scales.scale[g]);
      const __m512i plane = Few::plane(sb, g);
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z)
        store_products<0>(e.w, g * 8 + static_cast<uint32_t>(z) * 2, Few::codes(sb, g, plane, z),
                          scale);
    }
  }
  template <uint32_t N>
  static void superblock(const LinearArgs& a, const uint32_t* row, const Expanded& e, uint32_t b,
                         RowSums* acc) {
    add_planes<Few, N>(a, row, e.w, e.scales, b, acc);
  }
};

struct TileK6 {
  using Few = K6;
  static constexpr uint32_t kBytes = Few::kBytes, kDepth = 64;
  struct Expanded {
    Planes w;
    __m512 d;
  };
  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (uint32_t j = 0; j < 16; ++j) {
      const SubScale scale(Few::scale(sb, j));
      const __m512i plane = load512(sb + Few::At::kHighAt + j * 64);
#pragma GCC unroll 2
      for (int z = 0; z < 2; ++z) {
        const auto half = static_cast<uint32_t>(z);
        store_products<32>(e.w, j * 4 + half * 2, six_bits(sb + (j * 2 + half) * 64, plane, z),
                           scale);
      }
    }
    e.d = half_scales(sb + Few::At::kDAt);
  }
  template <uint32_t N>
  static void superblock(const LinearArgs& a, const uint32_t* row, const Expanded& e, uint32_t b,
                         RowSums* acc) {
    add_planes<Few, N>(a, row, e.w, e.d, b, acc);
  }
};
