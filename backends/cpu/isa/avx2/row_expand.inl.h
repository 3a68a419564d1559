// AVX2 and wider: one row's superblock out of the file's blocks (RowExpand of kernels/linear_rows.inl.h), for types whose codes are
// bits of fixed places or indices of a table of 16. Every result is decode_row_codes' (quant/row_codes.h), byte for byte. A vector
// holds 32 consecutive codes. Types of a codebook are in row_expand_grids.inl.h.

namespace row_expand {

// load: that many bytes.
inline __m256i load32(const uint8_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
inline __m128i load16(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}
inline __m128i load8(const uint8_t* p) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}
inline uint64_t u64_at(const uint8_t* p) {
  uint64_t v;
  __builtin_memcpy(&v, p, 8);
  return v;
}
inline uint32_t u32_at(const uint8_t* p) {
  uint32_t v;
  __builtin_memcpy(&v, p, 4);
  return v;
}
inline uint16_t u16_at(const uint8_t* p) {
  uint16_t v;
  __builtin_memcpy(&v, p, 2);
  return v;
}
inline __m128i dword(const uint8_t* p) { return _mm_cvtsi32_si128(static_cast<int>(u32_at(p))); }
inline __m256i in_both_lanes(__m128i v) { return _mm256_broadcastsi128_si256(v); }
inline __m256i masked(__m256i v, int mask) {
  return _mm256_and_si256(v, _mm256_set1_epi8(static_cast<char>(mask)));
}
inline __m128i masked(__m128i v, int mask) {
  return _mm_and_si128(v, _mm_set1_epi8(static_cast<char>(mask)));
}
inline float f16(uint32_t bits) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int>(bits))));
}

// Codes 32j .. 32j+31.
inline void put(RowCodes& out, uint32_t j, __m256i codes) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(out.code + 32 * j), codes);
}
// 16 signed bytes, one per sub-block of 16.
inline void put_sub(int16_t (&out)[16], __m128i bytes) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm256_cvtepi8_epi16(bytes));
}
// 8 signed bytes, one per sub-block of 32.
inline void put_sub_32(int16_t (&out)[16], __m128i bytes) {
  put_sub(out, _mm_unpacklo_epi8(bytes, bytes));
}
// Low and high nibble of byte i become bytes 2i and 2i + 1, for the low 8 bytes.
inline __m128i nibbles_in_order(__m128i v) {
  return _mm_unpacklo_epi8(masked(v, 15), masked(_mm_srli_epi16(v, 4), 15));
}

// Bytes that pshufb looks up; both lanes hold the same.
struct alignas(32) Table {
  int8_t at[32];
};
inline __m256i look_up(const Table& t, __m256i indices) {
  return _mm256_shuffle_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(t.at)), indices);
}
template <class Value>
consteval Table table_of(Value value) {
  Table t{};
  for (uint32_t i = 0; i < 32; ++i) t.at[i] = static_cast<int8_t>(value(i % 16));
  return t;
}
constexpr Table kIq4Table = table_of([](uint32_t i) { return kIq4Values[i]; });
constexpr Table kMxfp4Table = table_of([](uint32_t i) { return kMxfp4Values[i]; });

// 16 bytes, low nibbles before high nibbles.
inline __m256i nibbles(const uint8_t* p) {
  const __m128i v = load16(p);
  return masked(_mm256_inserti128_si256(_mm256_castsi128_si256(v), _mm_srli_epi16(v, 4), 1), 15);
}

// The 2-bit codes of Q2_K, Q3_K and TQ2_0: plane p of half h of 64 bytes.
inline __m256i two_bits(__m256i half, int p) { return masked(_mm256_srli_epi16(half, 2 * p), 3); }

// Two 2-bit codes in every nibble, each mapped by `value`: their even and their odd ones.
struct PairTables {
  Table even, odd;
};
template <class Value>
consteval PairTables pair_tables_of(Value value) {
  return {table_of([value](uint32_t i) { return value(i % 4); }),
          table_of([value](uint32_t i) { return value(i / 4); })};
}
constexpr PairTables kLessOne = pair_tables_of([](uint32_t x) { return static_cast<int>(x) - 1; });

// Of bytes for 8 codes each, the same in both lanes: byte 4j + i comes to the places of codes 8i .. 8i + 7 of 32.
consteval Table spread_table(uint32_t j) {
  Table t{};
  for (uint32_t i = 0; i < 32; ++i) t.at[i] = static_cast<int8_t>(4 * j + i / 8);
  return t;
}
constexpr Table kSpread[4] = {spread_table(0), spread_table(1), spread_table(2), spread_table(3)};
inline __m256i spread(__m256i bytes, uint32_t j) {
  return _mm256_shuffle_epi8(bytes,
                             _mm256_load_si256(reinterpret_cast<const __m256i*>(kSpread[j].at)));
}
// -1 where the bit is set.
inline __m256i set_bits(__m256i bytes, uint32_t j) {
  const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
  return _mm256_cmpeq_epi8(_mm256_and_si256(spread(bytes, j), bit), bit);
}

struct ExpandQ2K {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    for (uint32_t h = 0; h < 2; ++h) {
      const __m256i half = load32(block + offsetof(BlockQ2_K, qs) + 32 * h);
#pragma GCC unroll 4
      for (uint32_t p = 0; p < 4; ++p) put(out, 4 * h + p, two_bits(half, static_cast<int>(p)));
    }
    const __m128i scales = load16(block + offsetof(BlockQ2_K, scales));
    put_sub(out.sub_scale, masked(scales, 15));
    put_sub(out.sub_min, masked(_mm_srli_epi16(scales, 4), 15));
    out.d[0] = f16(u16_at(block + offsetof(BlockQ2_K, d)));
    out.m[0] = f16(u16_at(block + offsetof(BlockQ2_K, dmin)));
  }
};

struct ExpandQ3K {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    // c - 4 = low 2 bits - (bit 2 of c ? 0 : 4)
    const __m256i clear = _mm256_xor_si256(load32(block + offsetof(BlockQ3_K, hmask)),
                                           _mm256_set1_epi8(static_cast<char>(0xff)));
#pragma GCC unroll 2
    for (uint32_t h = 0; h < 2; ++h) {
      const __m256i half = load32(block + offsetof(BlockQ3_K, qs) + 32 * h);
#pragma GCC unroll 4
      for (uint32_t p = 0; p < 4; ++p) {
        const int bit = static_cast<int>(4 * h + p);
        const __m256i moved =
            bit < 2 ? _mm256_slli_epi16(clear, 2 - bit) : _mm256_srli_epi16(clear, bit - 2);
        put(out, 4 * h + p, _mm256_sub_epi8(two_bits(half, static_cast<int>(p)), masked(moved, 4)));
      }
    }
    const uint8_t* scales = block + offsetof(BlockQ3_K, scales);
    const __m128i bytes = load8(scales);
    const __m128i low = masked(_mm_unpacklo_epi64(bytes, _mm_srli_epi16(bytes, 4)), 15);
    const __m128i high = masked(
        _mm_srlv_epi32(_mm_shuffle_epi32(dword(scales + 8), 0), _mm_setr_epi32(0, 2, 4, 6)), 3);
    put_sub(out.sub_scale,
            _mm_sub_epi8(_mm_or_si128(low, _mm_slli_epi16(high, 4)), _mm_set1_epi8(32)));
    out.d[0] = f16(u16_at(block + offsetof(BlockQ3_K, d)));
  }
};

struct ExpandIq4Xs {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
#pragma GCC unroll 8
    for (uint32_t j = 0; j < 8; ++j)
      put(out, j, look_up(kIq4Table, nibbles(block + offsetof(BlockIq4Xs, qs) + 16 * j)));
    const __m128i low = nibbles_in_order(dword(block + offsetof(BlockIq4Xs, scales_l)));
    // Bytes 0..3 take 2-bit field i of the first byte of scales_h, bytes 4..7 of the second: each in bits 4, 5 of byte i of its dword.
    const uint32_t fields = u16_at(block + offsetof(BlockIq4Xs, scales_h));
    const __m128i two = _mm_cvtepu8_epi32(_mm_cvtsi32_si128(static_cast<int>(fields)));
    const __m128i high = _mm_or_si128(
        _mm_or_si128(_mm_and_si128(_mm_slli_epi32(two, 4), _mm_set1_epi32(0x30)),
                     _mm_and_si128(_mm_slli_epi32(two, 10), _mm_set1_epi32(0x3000))),
        _mm_or_si128(_mm_and_si128(_mm_slli_epi32(two, 16), _mm_set1_epi32(0x300000)),
                     _mm_and_si128(_mm_slli_epi32(two, 22), _mm_set1_epi32(0x30000000))));
    put_sub_32(out.sub_scale, _mm_sub_epi8(_mm_or_si128(low, high), _mm_set1_epi8(32)));
    out.d[0] = f16(u16_at(block + offsetof(BlockIq4Xs, d)));
  }
};

struct ExpandIq4Nl {
  static void expand(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
    for (uint32_t j = 0; j < n_blocks; ++j, blocks += sizeof(BlockIq4Nl)) {
      put(out, j, look_up(kIq4Table, nibbles(blocks + offsetof(BlockIq4Nl, qs))));
      out.d[j] = f16(u16_at(blocks + offsetof(BlockIq4Nl, d)));
    }
  }
};

struct ExpandMxfp4 {
  static void expand(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
    for (uint32_t j = 0; j < n_blocks; ++j, blocks += sizeof(BlockMxfp4)) {
      put(out, j, look_up(kMxfp4Table, nibbles(blocks + offsetof(BlockMxfp4, qs))));
      const uint32_t e = blocks[offsetof(BlockMxfp4, e)];  // mxfp4_scale()
      const uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
      __builtin_memcpy(&out.d[j], &bits, 4);
    }
  }
};

struct ExpandTq2 {
  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    for (uint32_t h = 0; h < 2; ++h) {
      const __m256i half = load32(block + offsetof(BlockTQ2_0, qs) + 32 * h);
#pragma GCC unroll 4
      for (uint32_t p = 0; p < 4; ++p)
        put(out, 4 * h + p,
            _mm256_sub_epi8(two_bits(half, static_cast<int>(p)), _mm256_set1_epi8(1)));
    }
    put_sub(out.sub_scale, _mm_set1_epi8(1));
    out.d[0] = f16(u16_at(block + offsetof(BlockTQ2_0, d)));
  }
};

struct ExpandTq1 {
  // Next digit less 1 of every byte, which is the carry of 3 * rest less 1: rest >= 86 gives 1, rest >= 171 gives 2.
  static __m256i next_codes(__m256i rest) {
    const auto at_least = [rest](int x) {  // -1 where it is
      return _mm256_cmpeq_epi8(_mm256_max_epu8(rest, _mm256_set1_epi8(static_cast<char>(x))), rest);
    };
    return _mm256_sub_epi8(_mm256_set1_epi8(-1), _mm256_add_epi8(at_least(86), at_least(171)));
  }
  static __m256i times_3(__m256i rest) {
    return _mm256_add_epi8(rest, _mm256_add_epi8(rest, rest));
  }

  static void expand(const uint8_t* block, uint32_t, RowCodes& out) {
    const uint8_t* qs = block + offsetof(BlockTQ1_0, qs);
    __m256i rest = load32(qs);  // digit k: weights 32k .. 32k + 31
#pragma GCC unroll 5
    for (uint32_t k = 0; k < 5; ++k, rest = times_3(rest)) put(out, k, next_codes(rest));
    // qs[32 .. 47] as digits 0 and 1 of weights 160 .. 191, then 2 and 3, then 4; qh's four digits behind it.
    const __m128i x = load16(qs + 32);
    const __m128i x3 = _mm_add_epi8(x, _mm_add_epi8(x, x));
    rest = _mm256_inserti128_si256(_mm256_castsi128_si256(x), x3, 1);
    put(out, 5, next_codes(rest));
    rest = times_3(times_3(rest));
    put(out, 6, next_codes(rest));
    rest = times_3(times_3(rest));
    const __m128i y = dword(block + offsetof(BlockTQ1_0, qh));
    const __m128i y3 = _mm_add_epi8(y, _mm_add_epi8(y, y));
    const __m128i two = _mm_unpacklo_epi32(y, y3);
    const __m128i two_3 = _mm_add_epi8(two, _mm_add_epi8(two, two));
    const __m128i two_9 = _mm_add_epi8(two_3, _mm_add_epi8(two_3, two_3));
    put(out, 7, next_codes(_mm256_inserti128_si256(rest, _mm_unpacklo_epi64(two, two_9), 1)));
    put_sub(out.sub_scale, _mm_set1_epi8(1));
    out.d[0] = f16(u16_at(block + offsetof(BlockTQ1_0, d)));
  }
};

struct ExpandQ1 {
  static void expand(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
    for (uint32_t j = 0; j < n_blocks; ++j) {
      const uint8_t* block = blocks + j / 4 * sizeof(BlockQ1_0);
      const __m128i bits = dword(block + offsetof(BlockQ1_0, qs) + j % 4 * 4);
      const __m256i set = set_bits(in_both_lanes(bits), 0);
      put(out, j, _mm256_sub_epi8(_mm256_set1_epi8(-1), _mm256_add_epi8(set, set)));
      out.d[j] = f16(u16_at(block + offsetof(BlockQ1_0, d)));
    }
  }
};

struct ExpandQ2 {
  static void expand(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
    for (uint32_t j = 0; j < n_blocks; ++j) {  // 8 bytes, 4 codes in each
      const uint8_t* block = blocks + j / 2 * sizeof(BlockQ2_0);
      const __m256i pairs =
          in_both_lanes(nibbles_in_order(load8(block + offsetof(BlockQ2_0, qs) + j % 2 * 8)));
      const __m256i even = look_up(kLessOne.even, pairs), odd = look_up(kLessOne.odd, pairs);
      put(out, j,
          _mm256_blend_epi32(_mm256_unpacklo_epi8(even, odd), _mm256_unpackhi_epi8(even, odd),
                             0xf0));
      out.d[j] = f16(u16_at(block + offsetof(BlockQ2_0, d)));
    }
  }
};

}  // namespace row_expand

template <>
struct RowExpand<DType::q2_k> : row_expand::ExpandQ2K {};
template <>
struct RowExpand<DType::q3_k> : row_expand::ExpandQ3K {};
template <>
struct RowExpand<DType::iq4_xs> : row_expand::ExpandIq4Xs {};
template <>
struct RowExpand<DType::iq4_nl> : row_expand::ExpandIq4Nl {};
template <>
struct RowExpand<DType::mxfp4> : row_expand::ExpandMxfp4 {};
template <>
struct RowExpand<DType::tq2_0> : row_expand::ExpandTq2 {};
template <>
struct RowExpand<DType::tq1_0> : row_expand::ExpandTq1 {};
template <>
struct RowExpand<DType::q1_0> : row_expand::ExpandQ1 {};
template <>
struct RowExpand<DType::q2_0> : row_expand::ExpandQ2 {};
