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

// What both types have in common: a step is a superblock of two panels with a block of rows; two panels times two planes fill the tiles of
// sums. While its tiles multiply, vectors join the sums of the step before: a product takes 16 cycles, and one port of the vectors' is left
// to floats (types_32.inl.h). Joining the step's own sums instead would wait for the last product, and the next step's products for the
// joins.
//
//   tiles 0, 1: sums of panel 0, low and high      2, 3: of panel 1      4: 16 rows of the input      5, 6, 7: planes of weights
struct TilePlanes {
  static constexpr uint32_t kDepth = 64, kPlanes = 2;
  // Tiles of input and of weights have one shape, so that 5 may hold weights.
  static_assert(kDepth == 64);
  // A row is joined after each product.
  static_assert(kMostPanels == 2 && kMostPanels * kPlanes * (kSuperblock / kDepth) == kTileRows);
  using Sums = TileSums[kMostPanels][kPlanes];

  // between(i) is done after the i-th of 16 products.
  template <class Between>
  [[gnu::always_inline]] static void multiply(const Planes& w0, const Planes& w1, const uint8_t* in,
                                              size_t in_stride, Sums& sums,
                                              const Between& between) {
    each_tile<4>([]<int t>() { zero_tile<t>(); });
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 256; k += 64) {
      load_tile<4>(in + k, in_stride);
      load_tile<5>(w0.low[k / 4], 64);
      multiply_unsigned_tiles<0, 4, 5>();
      between(k / 16);
      load_tile<6>(w0.high[k / 4], 64);
      multiply_signed_tiles<1, 4, 6>();
      between(k / 16 + 1);
      load_tile<7>(w1.low[k / 4], 64);
      multiply_unsigned_tiles<2, 4, 7>();
      between(k / 16 + 2);
      load_tile<6>(w1.high[k / 4], 64);
      multiply_signed_tiles<3, 4, 6>();
      between(k / 16 + 3);
    }
    store_sums<0>(sums[0][0]);
    store_sums<1>(sums[0][1]);
    store_sums<2>(sums[1][0]);
    store_sums<3>(sums[1][1]);
  }
  // I of row i.
  static __m512i joined(const TileSums* sums, uint32_t i) {
    return _mm512_add_epi32(_mm512_slli_epi32(load512(sums[1][i]), 8), load512(sums[0][i]));
  }
};

// T::Join: a panel's part of a row's float sum; T::Row: what both panels' joins take from the input's row.
template <class T, bool kWhole>
void planes_pass(const TilePass<T>& pass) {
  alignas(64) TilePlanes::Sums sums;  // of a step, until the next one's are stored
  const size_t in_stride = pass.args.in_stride;
  const __mmask16 goes_on = pass.goes_on;
  const typename T::Join join0(pass.args, *pass.e[0], pass.b), join1(pass.args, *pass.e[1], pass.b);
  const auto join_row = [ =, &sums ](const uint8_t* x, float* to0, float* to1, uint32_t row)
      __attribute__((always_inline)) {
    to0 += row * kPanelRows;
    to1 += row * kPanelRows;
    const typename T::Row r(join0, x + row * in_stride);
    put_sum<kWhole>(to0, join0(r, sums[0], row, sum_before<kWhole>(to0, goes_on)));
    put_sum<kWhole>(to1, join1(r, sums[1], row, sum_before<kWhole>(to1, goes_on)));
  };
  const uint8_t* x = pass.in(0);
  float *to0 = pass.sums[0], *to1 = pass.sums[1];
  const Planes &w0 = pass.e[0]->w, &w1 = pass.e[1]->w;
  TilePlanes::multiply(w0, w1, x + pass.b * 256, in_stride, sums, [](uint32_t) {});
  for (uint32_t block = 1; block < pass.n_blocks; ++block) {
    const uint8_t* next = pass.in(block);
    TilePlanes::multiply(
        w0, w1, next + pass.b * 256, in_stride,
        sums, [=](uint32_t i) __attribute__((always_inline)) { join_row(x, to0, to1, i); });
    x = next;
    to0 += kTileRows * kPanelRows;
    to1 += kTileRows * kPanelRows;
  }
  for (uint32_t row = 0; row < kTileRows; ++row) join_row(x, to0, to1, row);
}

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
  template <bool kWhole>
  static void pass(const TilePass<TileK4>& pass) {
    planes_pass<TileK4, kWhole>(pass);
  }
  struct Row;
  struct Join {
    typename Few::Mins min;
    __m512 d, dmin;
    size_t dx_at, sums_at;
    Join(const LinearArgs& a, const Expanded& e, uint32_t b)
        : min(e.scales),
          d(e.scales.d),
          dmin(e.scales.dmin),
          dx_at(a.form->dx_at + b * 4),
          sums_at(a.form->sum_at + b * 16) {}
    __m512 operator()(const Row& r, const TileSums* sums, uint32_t row, __m512 acc) const {
      return Few::joined(min, d, dmin, r.pairs, r.dx, joined(sums, row), acc);
    }
  };
  struct Row {
    __m512i pairs[4];
    __m512 dx;
    Row(const Join& at, const uint8_t* x)
        : pairs{broadcast4(x + at.sums_at), broadcast4(x + at.sums_at + 4),
                broadcast4(x + at.sums_at + 8), broadcast4(x + at.sums_at + 12)},
          dx(broadcast_float(x + at.dx_at)) {}
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
  template <bool kWhole>
  static void pass(const TilePass<TileK6>& pass) {
    planes_pass<TileK6, kWhole>(pass);
  }
  struct Row;
  struct Join {
    __m512 d;
    size_t dx_at;
    Join(const LinearArgs& a, const Expanded& e, uint32_t b)
        : d(e.d), dx_at(a.form->dx_at + b * 4) {}
    __m512 operator()(const Row& r, const TileSums* sums, uint32_t row, __m512 acc) const {
      return Few::joined(d, r.dx, joined(sums, row), acc);
    }
  };
  struct Row {
    __m512 dx;
    Row(const Join& at, const uint8_t* x) : dx(broadcast_float(x + at.dx_at)) {}
  };
};
