// AVX-512 VNNI: a line of 64 bytes is one register of [16 rows][4 k]; vpdpbusd adds four u8 x s8 products per row in int32, exactly.
// Few rows read the packed codes directly; from kA8ExpandFrom rows on a stripe is expanded to byte codes once.

constexpr uint32_t kA8ExpandFrom = 13;
constexpr int kA8Rows = 6;  // rows per register tile

inline __m512i load512(const void* p) { return _mm512_loadu_si512(p); }
inline __m512i broadcast4(const void* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm512_set1_epi32(v);
}
inline __m512i low4(__m512i v) { return _mm512_and_si512(v, _mm512_set1_epi8(15)); }
inline __m512i high4(__m512i v) { return low4(_mm512_srli_epi16(v, 4)); }
inline __m512 half_scales(const uint8_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline __m128i load128(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

// Bit `from` of every byte, moved to bit `to`.
inline __m512i move_bits(__m512i v, int from, int to, int mask) {
  const __m512i moved = from <= to ? _mm512_slli_epi16(v, static_cast<unsigned>(to - from))
                                   : _mm512_srli_epi16(v, static_cast<unsigned>(from - to));
  return _mm512_and_si512(moved, _mm512_set1_epi8(static_cast<char>(mask)));
}

// The codes of 8 k: two registers of 4 k.
struct Quads {
  __m512i w[2];
};
inline Quads four_bits(const uint8_t* line) {
  const __m512i v = load512(line);
  return {{low4(v), high4(v)}};
}
inline Quads five_bits(const uint8_t* line, __m512i plane, int z) {
  Quads c = four_bits(line);
  c.w[0] = _mm512_or_si512(c.w[0], move_bits(plane, 2 * z, 4, 0x10));
  c.w[1] = _mm512_or_si512(c.w[1], move_bits(plane, 2 * z + 1, 4, 0x10));
  return c;
}
inline Quads six_bits(const uint8_t* line, __m512i plane, int z) {
  Quads c = four_bits(line);
  c.w[0] = _mm512_or_si512(c.w[0], move_bits(plane, 4 * z, 4, 0x30));
  c.w[1] = _mm512_or_si512(c.w[1], move_bits(plane, 4 * z + 2, 4, 0x30));
  return c;
}
inline Quads byte_codes(const uint8_t* lines) { return {{load512(lines), load512(lines + 64)}}; }
inline void store_quads(uint8_t* lines, const Quads& c) {
  _mm512_store_si512(lines, c.w[0]);
  _mm512_store_si512(lines + 64, c.w[1]);
}

template <int R>
inline void multiply(const Quads& c, const int8_t* const* q, uint32_t k, __m512i* acc) {
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    acc[i] = _mm512_dpbusd_epi32(acc[i], c.w[0], broadcast4(q[i] + k));
    acc[i] = _mm512_dpbusd_epi32(acc[i], c.w[1], broadcast4(q[i] + k + 4));
  }
}

// Q4_K and Q5_K: I = sum_j sc_j sum(c q), J = sum_j mn_j S_j.
struct K4Scales {
  __m512i scale[8];  // int32
  __m512i min[4];    // int16 pairs of two sub-blocks
  __m512 d, dmin;
};
inline void unpack_k4_scales(const uint8_t* packed, K4Scales& out) {
  __m128i p[12], scale[8], min[8];
  for (int i = 0; i < 12; ++i) p[i] = load128(packed + 16 * i);
  const __m128i six = _mm_set1_epi8(63), four = _mm_set1_epi8(15), top = _mm_set1_epi8(0x30);
  for (int j = 0; j < 4; ++j) {
    scale[j] = _mm_and_si128(p[j], six);
    min[j] = _mm_and_si128(p[j + 4], six);
    scale[j + 4] =
        _mm_or_si128(_mm_and_si128(p[j + 8], four), _mm_and_si128(_mm_srli_epi16(p[j], 2), top));
    min[j + 4] = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(p[j + 8], 4), four),
                              _mm_and_si128(_mm_srli_epi16(p[j + 4], 2), top));
  }
  for (int j = 0; j < 8; ++j) out.scale[j] = _mm512_cvtepu8_epi32(scale[j]);
  for (int j = 0; j < 4; ++j) {
    const __m256i pairs = _mm256_set_m128i(_mm_unpackhi_epi8(min[2 * j], min[2 * j + 1]),
                                           _mm_unpacklo_epi8(min[2 * j], min[2 * j + 1]));
    out.min[j] = _mm512_cvtepu8_epi16(pairs);
  }
  out.d = half_scales(packed + kPackedScales);
  out.dmin = half_scales(packed + kPackedScales + kPanelHalves);
}

struct alignas(64) K4Expanded {
  uint8_t code[64][64];
  K4Scales scales;
};
struct alignas(64) K6Expanded {
  uint8_t code[64][64];
  __m512i scale[16];  // int32
  __m512 d;
};
struct alignas(64) Expanded32 {
  uint8_t code[64][64];
  __m512 d[8], m[8];
};

template <bool kFive>
struct K4 {
  using At = PanelK<kFive ? 5 : 4>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K4Expanded;

  static Quads codes(const uint8_t* sb, uint32_t g, __m512i plane, int z) {
    const uint8_t* line = sb + (g * 4 + static_cast<uint32_t>(z)) * 64;
    return kFive ? five_bits(line, plane, z) : four_bits(line);
  }
  static __m512i plane(const uint8_t* sb, uint32_t g) {
    return kFive ? load512(sb + At::kHighAt + g * 64) : _mm512_setzero_si512();
  }
  // acc with superblock b of row i.
  template <int R>
  static __m512 joined(const LinearArgs& a, const InputRows<R>& in, int i, const K4Scales& s,
                       uint32_t b, __m512i isum, __m512 acc) {
    const int16_t* sums = in.sum_i16(a, i) + b * 8;
    __m512i jsum = _mm512_setzero_si512();
    for (int j = 0; j < 4; ++j)
      jsum = _mm512_dpwssd_epi32(jsum, s.min[j], broadcast4(sums + 2 * j));
    const __m512 t = _mm512_fmsub_ps(s.d, _mm512_cvtepi32_ps(isum),
                                     _mm512_mul_ps(s.dmin, _mm512_cvtepi32_ps(jsum)));
    return _mm512_fmadd_ps(t, _mm512_set1_ps(in.dx(a, i)[b]), acc);
  }
  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (uint32_t g = 0; g < 8; ++g)
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z)
        store_quads(e.code[g * 8 + static_cast<uint32_t>(z) * 2], codes(sb, g, plane(sb, g), z));
    unpack_k4_scales(sb + At::kScalesAt, e.scales);
  }
  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         __m512* acc) {
    K4Scales unpacked;
    if constexpr (!kExpanded) unpack_k4_scales(sb + At::kScalesAt, unpacked);
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    const K4Scales& s = kExpanded ? e->scales : unpacked;
    __m512i isum[R];
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) isum[i] = _mm512_setzero_si512();
    for (uint32_t g = 0; g < 8; ++g) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, g);
      __m512i dot[R];
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) dot[i] = _mm512_setzero_si512();
      const __m512i high = kExpanded ? _mm512_setzero_si512() : plane(sb, g);
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z) {
        Quads c;
        if constexpr (kExpanded) {
          c = byte_codes(e->code[g * 8 + static_cast<uint32_t>(z) * 2]);
        } else {
          c = codes(sb, g, high, z);
        }
        multiply<R>(c, in.q, b * 256 + g * 32 + static_cast<uint32_t>(z) * 8, dot);
      }
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i)
        isum[i] = _mm512_add_epi32(isum[i], _mm512_mullo_epi32(dot[i], s.scale[g]));
    }
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) acc[i] = joined(a, in, i, s, b, isum[i], acc[i]);
  }
};

struct K6 {
  using At = PanelK<6>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K6Expanded;

  static __m512i scale(const uint8_t* sb, uint32_t j) {
    return _mm512_cvtepi8_epi32(load128(sb + At::kScalesAt + 16 * j));
  }
  template <int R>
  static __m512 joined(const LinearArgs& a, const InputRows<R>& in, int i, __m512 d, uint32_t b,
                       __m512i isum, __m512 acc) {
    return _mm512_fmadd_ps(_mm512_mul_ps(d, _mm512_cvtepi32_ps(isum)),
                           _mm512_set1_ps(in.dx(a, i)[b]), acc);
  }
  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (uint32_t j = 0; j < 16; ++j) {
      const __m512i plane = load512(sb + At::kHighAt + j * 64);
#pragma GCC unroll 2
      for (int z = 0; z < 2; ++z)
        store_quads(e.code[j * 4 + static_cast<uint32_t>(z) * 2],
                    six_bits(sb + (j * 2 + static_cast<uint32_t>(z)) * 64, plane, z));
      e.scale[j] = scale(sb, j);
    }
    e.d = half_scales(sb + At::kDAt);
  }
  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         __m512* acc) {
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    const __m512i ones = _mm512_set1_epi16(1);
    __m512i isum[R];
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) isum[i] = _mm512_setzero_si512();
    for (uint32_t j = 0; j < 16; ++j) {
      __m512i plane = _mm512_setzero_si512();
      if constexpr (!kExpanded) {
        plane = load512(sb + At::kHighAt + j * 64);
        prefetch_next<kBytes, 16>(sb, j);
      }
      __m512i dot[R];  // starts at -32 * (sum of q), the two halves of bias32 added
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i)
        dot[i] = _mm512_madd_epi16(broadcast4(in.bias(a, i) + (b * 16 + j) * 2), ones);
#pragma GCC unroll 2
      for (int z = 0; z < 2; ++z) {
        Quads c;
        if constexpr (kExpanded) {
          c = byte_codes(e->code[j * 4 + static_cast<uint32_t>(z) * 2]);
        } else {
          const uint8_t* line = sb + (j * 2 + static_cast<uint32_t>(z)) * 64;
          c = six_bits(line, plane, z);
        }
        multiply<R>(c, in.q, b * 256 + j * 16 + static_cast<uint32_t>(z) * 8, dot);
      }
      const __m512i sc = kExpanded ? e->scale[j] : scale(sb, j);
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i)
        isum[i] = _mm512_add_epi32(isum[i], _mm512_mullo_epi32(dot[i], sc));
    }
    const __m512 d = kExpanded ? e->d : half_scales(sb + At::kDAt);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) acc[i] = joined(a, in, i, d, b, isum[i], acc[i]);
  }
};

// 32-block types. kBits 4, 5 or 8; codes are unsigned with `kBias` taken off through S_j, exactly in float (I_j < 2^24).
template <int kBits, bool kMin, int kBias>
struct B32 {
  using At = Panel32<kBits, kMin>;
  static constexpr uint32_t kCodeBytes = At::kHighAt;  // of a block
  static constexpr uint32_t kBytes = 8 * At::kBytes;
  using Expanded = Expanded32;

  static __m512i plane(const uint8_t* sb, uint32_t n, uint32_t j) {
    return kBits == 5 ? load512(sb + n * At::kHighAt + j * 64) : _mm512_setzero_si512();
  }
  // acc with a block of row i, its number counted from the row's begin.
  template <int R>
  static __m512 joined(const LinearArgs& a, const InputRows<R>& in, int i, __m512 d, __m512 m,
                       uint32_t block, __m512 value, __m512 acc) {
    const __m512 dx = _mm512_set1_ps(in.dx(a, i)[block]);
    if constexpr (kMin)
      acc = _mm512_fmadd_ps(_mm512_mul_ps(m, dx), _mm512_set1_ps(in.sum_f32(a, i)[block]), acc);
    return _mm512_fmadd_ps(_mm512_mul_ps(d, dx), value, acc);
  }
  static const uint8_t* d_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kDAt + j * 32;
  }
  static const uint8_t* m_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kMAt + j * 32;
  }
  static Quads codes(const uint8_t* sb, uint32_t j, __m512i high, int z) {
    const uint8_t* line = sb + j * kCodeBytes + static_cast<uint32_t>(z) * (kCodeBytes / 4);
    if constexpr (kBits == 8) {
      const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
      return {{_mm512_xor_si512(load512(line), flip), _mm512_xor_si512(load512(line + 64), flip)}};
    } else if constexpr (kBits == 5) {
      return five_bits(line, high, z);
    } else {
      return four_bits(line);
    }
  }
  static void expand(const uint8_t* sb, uint32_t n, Expanded& e) {
    for (uint32_t j = 0; j < n; ++j) {
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z)
        store_quads(e.code[j * 8 + static_cast<uint32_t>(z) * 2], codes(sb, j, plane(sb, n, j), z));
      e.d[j] = half_scales(d_at(sb, n, j));
      if constexpr (kMin) e.m[j] = half_scales(m_at(sb, n, j));
    }
  }
  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         __m512* acc) {
    const uint32_t left = (a.k - b * 256) / 32, n = left < 8 ? left : 8;
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    for (uint32_t j = 0; j < n; ++j) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, j);
      __m512i dot[R];
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) dot[i] = _mm512_setzero_si512();
      const __m512i high = kExpanded ? _mm512_setzero_si512() : plane(sb, n, j);
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z) {
        Quads c;
        if constexpr (kExpanded) {
          c = byte_codes(e->code[j * 8 + static_cast<uint32_t>(z) * 2]);
        } else {
          c = codes(sb, j, high, z);
        }
        multiply<R>(c, in.q, b * 256 + j * 32 + static_cast<uint32_t>(z) * 8, dot);
      }
      const __m512 d = kExpanded ? e->d[j] : half_scales(d_at(sb, n, j));
      __m512 m = _mm512_setzero_ps();
      if constexpr (kMin) m = kExpanded ? e->m[j] : half_scales(m_at(sb, n, j));
#pragma GCC unroll 8
      for (int i = 0; i < R; ++i) {
        __m512 value = _mm512_cvtepi32_ps(dot[i]);
        if constexpr (kBias != 0)
          value = _mm512_fnmadd_ps(_mm512_set1_ps(kBias),
                                   _mm512_set1_ps(in.sum_f32(a, i)[b * 8 + j]), value);
        acc[i] = joined(a, in, i, d, m, b * 8 + j, value, acc[i]);
      }
    }
  }
};

template <class T, int R, bool kExpanded>
void stripe_rows(const LinearArgs& a, const uint8_t* weights, size_t stride, uint32_t row,
                 uint32_t begin, uint32_t end) {
  const InputRows<R> in(a, row);
  __m512 acc[R];
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) acc[i] = _mm512_setzero_ps();
  for (uint32_t b = begin; b < end; ++b, weights += stride)
    T::template superblock<R, kExpanded>(a, in, weights, b, acc);
#pragma GCC unroll 8
  for (int i = 0; i < R; ++i) {
    float* out = a.out + (row + static_cast<uint32_t>(i)) * 16;
    _mm512_store_ps(out, _mm512_add_ps(_mm512_load_ps(out), acc[i]));
  }
}
