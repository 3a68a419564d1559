// AVX-512 VNNI, 256-block types. Per superblock: I = sum_j sc_j sum(c q), J = sum_j mn_j S_j in int32;
// acc = fma(fma(d, I, -(dmin * J)), dx, acc).

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
  // Members, not an array: GCC keeps an array that a lambda holds in memory.
  struct Mins {
    __m512i a, b, c, d;
    explicit Mins(const K4Scales& s) : a(s.min[0]), b(s.min[1]), c(s.min[2]), d(s.min[3]) {}
  };
  // acc with a superblock of a row: I, its dx, and its 8 sums of q, two in each lane of `pairs`.
  static __m512 joined(const Mins& min, __m512 d, __m512 dmin, const __m512i* pairs, __m512 dx,
                       __m512i isum, __m512 acc) {
    __m512i jsum = _mm512_dpwssd_epi32(_mm512_setzero_si512(), min.a, pairs[0]);
    jsum = _mm512_dpwssd_epi32(jsum, min.b, pairs[1]);
    jsum = _mm512_dpwssd_epi32(jsum, min.c, pairs[2]);
    jsum = _mm512_dpwssd_epi32(jsum, min.d, pairs[3]);
    const __m512 t =
        _mm512_fmsub_ps(d, _mm512_cvtepi32_ps(isum), _mm512_mul_ps(dmin, _mm512_cvtepi32_ps(jsum)));
    return _mm512_fmadd_ps(t, dx, acc);
  }
  // The same, from where the row's sums and dx lie.
  static __m512 joined_row(const K4Scales& s, const void* sums, const void* dx, __m512i isum,
                           __m512 acc) {
    const auto* pairs = static_cast<const uint8_t*>(sums);
    const __m512i p[4] = {broadcast4(pairs), broadcast4(pairs + 4), broadcast4(pairs + 8),
                          broadcast4(pairs + 12)};
    return joined(Mins(s), s.d, s.dmin, p, broadcast_float(dx), isum, acc);
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
    for (int i = 0; i < R; ++i)
      acc[i] = joined_row(s, in.sum_i16(a, i) + b * 8, in.dx(a, i) + b, isum[i], acc[i]);
  }
};

struct K6 {
  using At = PanelK<6>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K6Expanded;

  static __m512i scale(const uint8_t* sb, uint32_t j) {
    return _mm512_cvtepi8_epi32(load128(sb + At::kScalesAt + 16 * j));
  }
  static __m512 joined(__m512 d, __m512 dx, __m512i isum, __m512 acc) {
    return _mm512_fmadd_ps(_mm512_mul_ps(d, _mm512_cvtepi32_ps(isum)), dx, acc);
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
    for (int i = 0; i < R; ++i)
      acc[i] = joined(d, broadcast_float(in.dx(a, i) + b), isum[i], acc[i]);
  }
};
