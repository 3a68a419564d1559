// AVX2 and AVX-VNNI, 256-block types. Per superblock: I = sum_j sc_j sum(c q), J = sum_j mn_j S_j in int32;
// acc = fma(fma(d, I, -(dmin * J)), dx, acc).
//
// Narrow sums (simd/dot_maddubs.h) before the multiplication by the sub-scale, in each int16:
//   Q4_K  16 products <= 15 * 127:                    30480
//   Q5_K   8 products <= 31 * 127, twice per 32 k:    31496
//   Q6_K   8 products (c - 32) q, |c - 32| <= 32:     32512   (sums may wrap on the way; the start value is bias32)

// Sub-scales of both halves as scaled_sums() takes them; minimums of two sub-blocks side by side, as _mm256_madd_epi16 does.
struct alignas(64) K4Scales {
  __m256i scale[8][2];
  __m256i min[4][2];
  __m256 d[2], dmin[2];
};

inline void unpack_k4_scales(const uint8_t* packed, K4Scales& out) {
  __m128i p[12], scale[8], min[8];
  for (int i = 0; i < 12; ++i)
    p[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(packed + 16 * i));
  const __m128i six = _mm_set1_epi8(63), four = _mm_set1_epi8(15), top = _mm_set1_epi8(0x30);
  for (int j = 0; j < 4; ++j) {
    scale[j] = _mm_and_si128(p[j], six);
    min[j] = _mm_and_si128(p[j + 4], six);
    scale[j + 4] =
        _mm_or_si128(_mm_and_si128(p[j + 8], four), _mm_and_si128(_mm_srli_epi16(p[j], 2), top));
    min[j + 4] = _mm_or_si128(_mm_and_si128(_mm_srli_epi16(p[j + 8], 4), four),
                              _mm_and_si128(_mm_srli_epi16(p[j + 4], 2), top));
  }
  for (int j = 0; j < 8; ++j) unpack_sub_scales(scale[j], out.scale[j]);
  for (int j = 0; j < 4; ++j) {
    out.min[j][0] = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(min[2 * j], min[2 * j + 1]));
    out.min[j][1] = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(min[2 * j], min[2 * j + 1]));
  }
  for (int h = 0; h < 2; ++h) {
    out.d[h] = half_scales(packed + kPackedScales + 16 * h);
    out.dmin[h] = half_scales(packed + kPackedScales + kPanelHalves + 16 * h);
  }
}

struct K4Expanded {
  uint8_t code[64][64];  // [k/4][row][k%4]
  K4Scales scales;
};
struct alignas(64) K6Expanded {
  uint8_t code[64][64];
  __m256i scale[16][2];
  __m256 d[2];
};

template <bool kFive>
struct K4 {
  using At = PanelK<kFive ? 5 : 4>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K4Expanded;

  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (uint32_t g = 0; g < 8; ++g) {
      const __m256i plane[2] = {load256(sb + (kFive ? At::kHighAt + g * 64 : 0)),
                                load256(sb + (kFive ? At::kHighAt + g * 64 + 32 : 0))};
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z) {
        const uint8_t* line = sb + (g * 4 + static_cast<uint32_t>(z)) * 64;
        store_quads(e.code[g * 8 + static_cast<uint32_t>(z) * 2],
                    kFive ? five_bits(line, plane, z) : four_bits(line));
      }
    }
    unpack_k4_scales(sb + At::kScalesAt, e.scales);
  }

  // One superblock of R rows.
  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         __m256 (*acc)[2]) {
    K4Scales unpacked;
    if constexpr (!kExpanded) unpack_k4_scales(sb + At::kScalesAt, unpacked);
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    const K4Scales& s = kExpanded ? e->scales : unpacked;
    __m256i isum[R][2];
    clear<R>(isum);
    for (uint32_t g = 0; g < 8; ++g) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, g);
      __m256i plane[2];
      if constexpr (kFive && !kExpanded) {
        plane[0] = load256(sb + At::kHighAt + g * 64);
        plane[1] = load256(sb + At::kHighAt + g * 64 + 32);
      }
      __m256i lanes[R][2];
      clear<R>(lanes);
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z) {
        const uint32_t k = b * 256 + g * 32 + static_cast<uint32_t>(z) * 8;
        Quads c;
        if constexpr (kExpanded) {
          c = byte_codes(e->code[g * 8 + static_cast<uint32_t>(z) * 2]);
        } else {
          const uint8_t* line = sb + (g * 4 + static_cast<uint32_t>(z)) * 64;
          if constexpr (kFive)
            c = five_bits(line, plane, z);
          else
            c = four_bits(line);
        }
        multiply<R>(c, in.q, k, lanes);
        if (z == 3 || (kFive && kNarrowSums && z == 1)) {
#pragma GCC unroll 4
          for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
            for (int h = 0; h < 2; ++h)
              isum[i][h] = _mm256_add_epi32(isum[i][h], scaled_sums(lanes[i][h], s.scale[g][h]));
          if (z == 1) clear<R>(lanes);
        }
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const int16_t* sums = in.sum_i16(a, i) + b * 8;
      __m256i two[4];
      for (int j = 0; j < 4; ++j) two[j] = broadcast4(sums + 2 * j);
      const __m256 dx = _mm256_broadcast_ss(in.dx(a, i) + b);
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        __m256i jsum = _mm256_madd_epi16(s.min[0][h], two[0]);
        for (int j = 1; j < 4; ++j)
          jsum = _mm256_add_epi32(jsum, _mm256_madd_epi16(s.min[j][h], two[j]));
        const __m256 t = _mm256_fmsub_ps(s.d[h], _mm256_cvtepi32_ps(isum[i][h]),
                                         _mm256_mul_ps(s.dmin[h], _mm256_cvtepi32_ps(jsum)));
        acc[i][h] = _mm256_fmadd_ps(t, dx, acc[i][h]);
      }
    }
  }
};

struct K6 {
  using At = PanelK<6>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K6Expanded;

  static void unpack_scale(const uint8_t* sb, uint32_t j, __m256i out[2]) {
    unpack_sub_scales(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(sb + At::kScalesAt + 16 * j)), out);
  }

  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (uint32_t j = 0; j < 16; ++j) {
      const __m256i plane[2] = {load256(sb + At::kHighAt + j * 64),
                                load256(sb + At::kHighAt + j * 64 + 32)};
#pragma GCC unroll 2
      for (int z = 0; z < 2; ++z)
        store_quads(e.code[j * 4 + static_cast<uint32_t>(z) * 2],
                    six_bits(sb + (j * 2 + static_cast<uint32_t>(z)) * 64, plane, z));
      unpack_scale(sb, j, e.scale[j]);
    }
    for (int h = 0; h < 2; ++h) e.d[h] = half_scales(sb + At::kDAt + 16 * h);
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         __m256 (*acc)[2]) {
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    __m256i isum[R][2];
    clear<R>(isum);
    for (uint32_t j = 0; j < 16; ++j) {
      __m256i plane[2], scale[2];
      if constexpr (kExpanded) {
        scale[0] = e->scale[j][0];
        scale[1] = e->scale[j][1];
      } else {
        plane[0] = load256(sb + At::kHighAt + j * 64);
        plane[1] = load256(sb + At::kHighAt + j * 64 + 32);
        prefetch_next<kBytes, 16>(sb, j);
        unpack_scale(sb, j, scale);
      }
      __m256i lanes[R][2];
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i)
        lanes[i][0] = lanes[i][1] = sums_from_pairs(broadcast4(in.bias(a, i) + (b * 16 + j) * 2));
#pragma GCC unroll 2
      for (int z = 0; z < 2; ++z) {
        const uint32_t k = b * 256 + j * 16 + static_cast<uint32_t>(z) * 8;
        Quads c;
        if constexpr (kExpanded) {
          c = byte_codes(e->code[j * 4 + static_cast<uint32_t>(z) * 2]);
        } else {
          const uint8_t* line = sb + (j * 2 + static_cast<uint32_t>(z)) * 64;
          c = six_bits(line, plane, z);
        }
        multiply<R>(c, in.q, k, lanes);
      }
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h)
          isum[i][h] = _mm256_add_epi32(isum[i][h], scaled_sums(lanes[i][h], scale[h]));
    }
#pragma GCC unroll 4
    for (int i = 0; i < R; ++i) {
      const __m256 dx = _mm256_broadcast_ss(in.dx(a, i) + b);
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        const __m256 d = kExpanded ? e->d[h] : half_scales(sb + At::kDAt + 16 * h);
        acc[i][h] =
            _mm256_fmadd_ps(_mm256_mul_ps(d, _mm256_cvtepi32_ps(isum[i][h])), dx, acc[i][h]);
      }
    }
  }
};
