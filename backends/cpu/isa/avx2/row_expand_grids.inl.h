// AVX2 and wider: RowExpand (row_expand.inl.h) of the types of a codebook (quant/types/iq_grids.h). 16 points of 2 bytes come into a
// register by single loads, their coordinates become bytes by unpacking, sizes by pshufb, signs by a mask from the sign bits.

namespace row_expand {

// Not data(): no function of the library is called in an object of one instruction set.
template <size_t n>
inline const uint16_t* points_of(const std::array<uint16_t, n>& grid) {
  return reinterpret_cast<const uint16_t*>(&grid);
}

template <class At>
inline __m128i eight_points(At at) {
  __m128i v = _mm_cvtsi32_si128(at(0));
  v = _mm_insert_epi16(v, at(1), 1);
  v = _mm_insert_epi16(v, at(2), 2);
  v = _mm_insert_epi16(v, at(3), 3);
  v = _mm_insert_epi16(v, at(4), 4);
  v = _mm_insert_epi16(v, at(5), 5);
  v = _mm_insert_epi16(v, at(6), 6);
  return _mm_insert_epi16(v, at(7), 7);
}
// Where indices of points lie; eight() looks up 8i .. 8i + 7. They come by 8 bytes and are cut in a register, because loads are what
// is short (Zen 3, 64 points: 46 cycles, 57 with a load for each index, 83 with gathers).
struct ByteIndices {
  const uint8_t* at;
  uint32_t stride = 4;  // bytes between fours of them
  __m128i eight(const uint16_t* grid, uint32_t i) const {
    const uint64_t x = stride == 4 ? u64_at(at + 8 * i)
                                   : u32_at(at + 2 * stride * i) |
                                         uint64_t{u32_at(at + 2 * stride * i + stride)} << 32;
    return eight_points([=](uint32_t k) { return grid[(x >> (8 * k)) & 255]; });
  }
};
template <uint32_t kBits>
struct WordIndices {
  const uint8_t* at;  // words of which kBits count
  __m128i eight(const uint16_t* grid, uint32_t i) const {
    const uint64_t x = u64_at(at + 16 * i), y = u64_at(at + 16 * i + 8);
    return eight_points([=](uint32_t k) {
      return grid[((k < 4 ? x : y) >> (16 * (k % 4))) & ((1u << kBits) - 1)];
    });
  }
};
template <class Indices>
inline __m256i sixteen_points(const uint16_t* grid, Indices indices, uint32_t i) {
  return _mm256_set_m128i(indices.eight(grid, 2 * i + 1), indices.eight(grid, 2 * i));
}

template <int n>
struct Vectors {
  __m256i v[n];
};

// Nibbles of every byte, low before high: the bytes of the low half of each lane, then of the high half.
inline Vectors<2> unpack_nibbles(__m256i v) {
  const __m256i low = masked(v, 15), high = masked(_mm256_srli_epi16(v, 4), 15);
  return {{_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)}};
}
// IQ1 and IQ2: values of the 128 coordinates of 16 points.
inline Vectors<4> coordinates_2(__m256i points, const PairTables& values) {
  // Unpacking stays inside a lane: vector i takes points 4i, 4i + 1 and 4i + 2, 4i + 3 from the same place of both.
  const Vectors<2> pairs = unpack_nibbles(
      _mm256_permutevar8x32_epi32(points, _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7)));
  Vectors<4> out;
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const __m256i even = look_up(values.even, pairs.v[i]), odd = look_up(values.odd, pairs.v[i]);
    out.v[2 * i] = _mm256_unpacklo_epi8(even, odd);
    out.v[2 * i + 1] = _mm256_unpackhi_epi8(even, odd);
  }
  return out;
}

constexpr PairTables kIq1Table =
    pair_tables_of([](uint32_t x) { return 8 * (static_cast<int>(x) - 1); });
constexpr PairTables kIq2Table = pair_tables_of([](uint32_t x) { return kIq2Sizes[x]; });
constexpr Table kIq3XxsTable = table_of([](uint32_t x) { return kIq3XxsSizes[x % 8]; });
constexpr Table kIq3STable = table_of([](uint32_t x) { return 2 * (x % 8) + 1; });

// The sign bits of 256 codes, a byte for 8.
struct Signs {
  __m256i half[2];  // of 128 codes, in both lanes

  explicit Signs(__m256i bytes)
      : half{_mm256_permute2x128_si256(bytes, bytes, 0x00),
             _mm256_permute2x128_si256(bytes, bytes, 0x11)} {}
  // 32 sizes as codes 32j .. 32j + 31.
  __m256i on(__m256i sizes, uint32_t j) const {
    const __m256i negative = set_bits(half[j / 4], j % 4);
    return _mm256_sub_epi8(_mm256_xor_si256(sizes, negative), negative);
  }
};
// even_signs() of every byte.
inline __m256i with_even_sign(__m256i low7) {
  constexpr Table kOdd =
      table_of([](uint32_t i) { return (i ^ i >> 1 ^ i >> 2 ^ i >> 3) & 1 ? -128 : 0; });
  const __m256i folded = masked(_mm256_xor_si256(low7, _mm256_srli_epi16(low7, 4)), 15);
  return _mm256_or_si256(low7, look_up(kOdd, folded));
}
// 4 signs of 7 bits in the low 28 of every dword.
inline Signs signs_of_28(__m256i v) {
  const auto at = [](__m256i x, uint32_t mask) {
    return _mm256_and_si256(x, _mm256_set1_epi32(static_cast<int>(mask)));
  };
  const __m256i two = _mm256_or_si256(at(v, 0x7f), at(_mm256_slli_epi32(v, 1), 0x7f00));
  const __m256i more = _mm256_or_si256(at(_mm256_slli_epi32(v, 2), 0x7f0000),
                                       at(_mm256_slli_epi32(v, 3), 0x7f000000));
  return Signs(with_even_sign(_mm256_or_si256(two, more)));
}

// 2 s + 1 of every byte s.
inline __m128i odd_scales(__m128i s) { return _mm_or_si128(_mm_add_epi8(s, s), _mm_set1_epi8(1)); }
// Of 8 dwords, s in the top 4 bits of each.
inline void put_sub_of_tops(int16_t (&out)[16], __m256i v) {
  const __m256i s =
      _mm256_or_si256(_mm256_slli_epi32(_mm256_srli_epi32(v, 28), 1), _mm256_set1_epi32(1));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                      _mm256_or_si256(s, _mm256_slli_epi32(s, 16)));
}

// IQ2: sizes of all points with their signs.
template <class Indices>
inline void put_iq2(RowCodes& out, const uint16_t* grid, Indices indices, const Signs& signs) {
#pragma GCC unroll 2
  for (uint32_t h = 0; h < 2; ++h) {
    const Vectors<4> sizes = coordinates_2(sixteen_points(grid, indices, h), kIq2Table);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; ++i) put(out, 4 * h + i, signs.on(sizes.v[i], 4 * h + i));
  }
}
template <class Indices>
inline void put_iq3(RowCodes& out, const uint16_t* grid, Indices indices, const Table& sizes,
                    const Signs& signs) {
#pragma GCC unroll 4
  for (uint32_t h = 0; h < 4; ++h) {
    // Vector i takes points 8i .. 8i + 3 and 8i + 4 .. 8i + 7 from the same half of both lanes.
    const Vectors<2> x =
        unpack_nibbles(_mm256_permute4x64_epi64(sixteen_points(grid, indices, h), 0xd8));
#pragma GCC unroll 2
    for (uint32_t i = 0; i < 2; ++i)
      put(out, 2 * h + i, signs.on(look_up(sizes, x.v[i]), 2 * h + i));
  }
}
// IQ1: 8 (x - 1) + shift, shift(j) being that of codes 32j .. 32j + 31.
template <class Indices, class Shift>
inline void put_iq1(RowCodes& out, Indices indices, Shift shift) {
#pragma GCC unroll 2
  for (uint32_t h = 0; h < 2; ++h) {
    const Vectors<4> x = coordinates_2(sixteen_points(points_of(kIq1Grid), indices, h), kIq1Table);
#pragma GCC unroll 4
    for (uint32_t i = 0; i < 4; ++i) put(out, 4 * h + i, _mm256_add_epi8(x.v[i], shift(4 * h + i)));
  }
}

// Indices as vector code leaves them.
struct alignas(32) IndexBuffer {
  uint8_t at[128];
};
// Words 16i .. 16i + 15.
inline void store_words(IndexBuffer& to, uint32_t i, __m256i v) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(to.at + 32 * i), v);
}

struct ExpandIq2Xxs {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    const uint8_t* sub = block + offsetof(BlockIq2Xxs, sub);
    const __m256 low = _mm256_castsi256_ps(load32(sub));
    const __m256 high = _mm256_castsi256_ps(load32(sub + 32));
    const __m256i bits =  // the odd dwords
        _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps(low, high, 0xdd)), 0xd8);
    put_iq2(out, points_of(kIq2XxsGrid), ByteIndices{sub, 8}, signs_of_28(bits));
    put_sub_of_tops(out.sub_scale, bits);
    out.d[0] = f16(u16_at(block + offsetof(BlockIq2Xxs, d))) * 0.125f;
  }
};

struct ExpandIq2Xs {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    const uint8_t* qs = block + offsetof(BlockIq2Xs, qs);
    const __m256i low = load32(qs), high = load32(qs + 32);
    const __m256i low7 = _mm256_permute4x64_epi64(
        _mm256_packus_epi16(_mm256_srli_epi16(low, 9), _mm256_srli_epi16(high, 9)), 0xd8);
    put_iq2(out, points_of(kIq2XsGrid), WordIndices<9>{qs}, Signs(with_even_sign(low7)));
    put_sub(out.sub_scale,
            odd_scales(nibbles_in_order(load8(block + offsetof(BlockIq2Xs, scales)))));
    out.d[0] = f16(u16_at(block + offsetof(BlockIq2Xs, d))) * 0.125f;
  }
};

struct ExpandIq2S {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    // High 2 bits of group g: field g%4 of qh[g/4]; multiplied so that each comes to bits 8, 9 of its 16.
    const uint8_t* qs = block + offsetof(BlockIq2S, qs);
    IndexBuffer index;
#pragma GCC unroll 2
    for (uint32_t h = 0; h < 2; ++h) {
      const __m256i four_times = _mm256_cvtepu8_epi16(
          _mm_shuffle_epi8(dword(block + offsetof(BlockIq2S, qh) + 4 * h),
                           _mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)));
      const __m256i moved = _mm256_mullo_epi16(four_times, _mm256_set1_epi64x(0x0004001000400100));
      store_words(index, h,
                  _mm256_or_si256(_mm256_and_si256(moved, _mm256_set1_epi16(0x300)),
                                  _mm256_cvtepu8_epi16(load16(qs + 16 * h))));
    }
    put_iq2(out, points_of(kIq2SGrid), WordIndices<16>{index.at},
            Signs(load32(block + offsetof(BlockIq2S, signs))));
    put_sub(out.sub_scale,
            odd_scales(nibbles_in_order(load8(block + offsetof(BlockIq2S, scales)))));
    out.d[0] = f16(u16_at(block + offsetof(BlockIq2S, d))) * 0.125f;
  }
};

struct ExpandIq3Xxs {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    const uint8_t* qs = block + offsetof(BlockIq3Xxs, qs);
    const __m256i bits = load32(block + offsetof(BlockIq3Xxs, sub));
    put_iq3(out, points_of(kIq3XxsGrid), ByteIndices{qs}, kIq3XxsTable, signs_of_28(bits));
    put_sub_of_tops(out.sub_scale, bits);
    out.d[0] = f16(u16_at(block + offsetof(BlockIq3Xxs, d))) * 0.25f;
  }
};

struct ExpandIq3S {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    // Bit 8 of an index is a bit of qh, which is -1 in set_bits(): unpacked behind the low byte, one bit of it is taken.
    const uint8_t* qs = block + offsetof(BlockIq3S, qs);
    const __m256i qh = in_both_lanes(load8(block + offsetof(BlockIq3S, qh)));
    IndexBuffer index;
#pragma GCC unroll 2
    for (uint32_t h = 0; h < 2; ++h) {
      const __m256i low = load32(qs + 32 * h);
      const __m256i high = _mm256_and_si256(set_bits(qh, h), _mm256_set1_epi8(1));
      const __m256i a = _mm256_unpacklo_epi8(low, high), b = _mm256_unpackhi_epi8(low, high);
      store_words(index, 2 * h, _mm256_permute2x128_si256(a, b, 0x20));
      store_words(index, 2 * h + 1, _mm256_permute2x128_si256(a, b, 0x31));
    }
    put_iq3(out, points_of(kIq3SGrid), WordIndices<16>{index.at}, kIq3STable,
            Signs(load32(block + offsetof(BlockIq3S, signs))));
    put_sub_32(out.sub_scale,
               odd_scales(nibbles_in_order(dword(block + offsetof(BlockIq3S, scales)))));
    out.d[0] = f16(u16_at(block + offsetof(BlockIq3S, d)));
  }
};

// Low 4 words w -> 16 words: bits 3l .. 3l + 2 of w[k] in the top 3 bits of word 4k + l, under them anything.
inline __m256i three_bit_fields(__m128i w) {
  const __m128i twice = _mm_unpacklo_epi16(w, w);
  return _mm256_mullo_epi16(
      _mm256_set_m128i(_mm_unpackhi_epi32(twice, twice), _mm_unpacklo_epi32(twice, twice)),
      _mm256_set1_epi64x(0x0010008004002000));
}

struct ExpandIq1S {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    const uint8_t* qs = block + offsetof(BlockIq1S, qs);
    const __m128i qh = load16(block + offsetof(BlockIq1S, qh));
    IndexBuffer index;
#pragma GCC unroll 2
    for (uint32_t h = 0; h < 2; ++h) {
      // High 3 bits of group g: bits 3(g%4) on of qh[g/4].
      const __m256i tops = three_bit_fields(h == 0 ? qh : _mm_unpackhi_epi64(qh, qh));
      const __m256i high = _mm256_and_si256(_mm256_srli_epi16(tops, 5), _mm256_set1_epi16(0x700));
      store_words(index, h, _mm256_or_si256(high, _mm256_cvtepu8_epi16(load16(qs + 16 * h))));
    }
    const __m256i shifts = in_both_lanes(  // the bytes of each 16: 1, or -1 where bit 15 is set
        _mm_or_si128(_mm_srai_epi16(qh, 15), _mm_set1_epi8(1)));
    put_iq1(out, WordIndices<16>{index.at}, [shifts](uint32_t j) {
      return _mm256_shuffle_epi8(shifts, _mm256_set1_epi8(static_cast<char>(2 * j)));
    });
    const __m128i s =
        _mm_or_si128(_mm_and_si128(_mm_srli_epi16(qh, 11), _mm_set1_epi16(14)), _mm_set1_epi16(1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.sub_scale), _mm_unpacklo_epi16(s, s));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out.sub_scale + 8), _mm_unpackhi_epi16(s, s));
    out.d[0] = f16(u16_at(block + offsetof(BlockIq1S, d))) * 0.125f;
  }
};

struct ExpandIq1M {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    const uint8_t* qs = block + offsetof(BlockIq1M, qs);
    const __m128i qh = load16(block + offsetof(BlockIq1M, qh));
    const __m128i low = masked(qh, 15), high = masked(_mm_srli_epi16(qh, 4), 15);
    const __m128i of_groups[2] = {_mm_unpacklo_epi8(low, high), _mm_unpackhi_epi8(low, high)};
    IndexBuffer index;
    __m256i shifts[2];  // of 16 groups each, in both lanes
#pragma GCC unroll 2
    for (uint32_t h = 0; h < 2; ++h) {
      const __m256i point = _mm256_slli_epi16(_mm256_cvtepu8_epi16(masked(of_groups[h], 7)), 8);
      store_words(index, h, _mm256_or_si256(point, _mm256_cvtepu8_epi16(load16(qs + 16 * h))));
      shifts[h] = in_both_lanes(
          _mm_or_si128(_mm_cmpgt_epi8(of_groups[h], _mm_set1_epi8(7)), _mm_set1_epi8(1)));
    }
    put_iq1(out, WordIndices<16>{index.at},
            [&shifts](uint32_t j) { return spread(shifts[j / 4], j % 4); });
    // s[4k + l]: bits 3l on of scales[k].
    const uint8_t* scales = block + offsetof(BlockIq1M, scales);
    const __m256i tops = three_bit_fields(load8(scales));
    const __m256i s = _mm256_or_si256(
        _mm256_and_si256(_mm256_srli_epi16(tops, 12), _mm256_set1_epi16(14)), _mm256_set1_epi16(1));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.sub_scale), s);
    uint32_t bits = 0;
    for (uint32_t k = 0; k < 4; ++k)
      bits |= static_cast<uint32_t>(u16_at(scales + 2 * k) >> 12) << (4 * k);
    out.d[0] = f16(bits) * 0.125f;
  }
};

}  // namespace row_expand

template <>
struct RowExpand<DType::iq2_xxs> : row_expand::ExpandIq2Xxs {};
template <>
struct RowExpand<DType::iq2_xs> : row_expand::ExpandIq2Xs {};
template <>
struct RowExpand<DType::iq2_s> : row_expand::ExpandIq2S {};
template <>
struct RowExpand<DType::iq3_xxs> : row_expand::ExpandIq3Xxs {};
template <>
struct RowExpand<DType::iq3_s> : row_expand::ExpandIq3S {};
template <>
struct RowExpand<DType::iq1_s> : row_expand::ExpandIq1S {};
template <>
struct RowExpand<DType::iq1_m> : row_expand::ExpandIq1M {};
