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

// What both types have in common: two blocks of rows times two planes fill the tiles of sums.
struct TilePlanes {
  static constexpr uint32_t kDepth = 64, kPlanes = 2, kBlocks = 2;

  template <uint32_t N, class Expanded>
  static void multiply(const LinearArgs& a, const uint8_t* const* in, const Expanded& e, uint32_t b,
                       TileSums (*sums)[kPlanes]) {
    zero_tile<0>();
    zero_tile<1>();
    if constexpr (N == 2) zero_tile<2>();
    if constexpr (N == 2) zero_tile<3>();
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 256; k += 64) {
      load_tile<6>(e.w.low[k / 4], 64);
      load_tile<4>(in[0] + b * 256 + k, a.in_stride);
      multiply_unsigned_tiles<0, 4, 6>();
      load_tile<7>(e.w.high[k / 4], 64);
      multiply_signed_tiles<1, 4, 7>();
      if constexpr (N == 2) {
        load_tile<5>(in[1] + b * 256 + k, a.in_stride);
        multiply_unsigned_tiles<2, 5, 6>();
        multiply_signed_tiles<3, 5, 7>();
      }
    }
    store_sums<0>(sums[0][0]);
    store_sums<1>(sums[0][1]);
    if constexpr (N == 2) store_sums<2>(sums[1][0]);
    if constexpr (N == 2) store_sums<3>(sums[1][1]);
  }
  // I of row i.
  static __m512i joined(const TileSums* sums, uint32_t i) {
    return _mm512_add_epi32(_mm512_slli_epi32(load512(sums[1][i]), 8), load512(sums[0][i]));
  }
};

template <bool kFive>
struct TileK4 : TilePlanes {
  using Few = K4<kFive>;
  static constexpr uint32_t kBytes = Few::kBytes;
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
  struct Join {
    const K4Scales& scales;
    size_t dx_at, sums_at;
    Join(const LinearArgs& a, const Expanded& e, uint32_t b)
        : scales(e.scales), dx_at(a.form->dx_at + b * 4), sums_at(a.form->sum_at + b * 16) {}
    __m512 operator()(const uint8_t* row, const TileSums* sums, uint32_t i, __m512 acc) const {
      return Few::joined(scales, row + sums_at, row + dx_at, joined(sums, i), acc);
    }
  };
};

struct TileK6 : TilePlanes {
  using Few = K6;
  static constexpr uint32_t kBytes = Few::kBytes;
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
  struct Join {
    __m512 d;
    size_t dx_at;
    Join(const LinearArgs& a, const Expanded& e, uint32_t b)
        : d(e.d), dx_at(a.form->dx_at + b * 4) {}
    __m512 operator()(const uint8_t* row, const TileSums* sums, uint32_t i, __m512 acc) const {
      return Few::joined(d, row + dx_at, joined(sums, i), acc);
    }
  };
};
