// AVX2 and AVX-VNNI, 32-block types. Per block: t = d_j * dx_j; acc = fma(t, I_j, acc), with a minimum
// fma(t, I_j, fma(m_j * dx_j, S_j, acc)). I_j < 2^24, so sum(c q) - bias * S_j is exact in float as well.
//
// Narrow sums (simd/dot_maddubs.h), in each int16: 4-bit codes 16 products <= 15 * 127: 30480;  5-bit codes 8 products <= 31 * 127,
// twice per block: 31496. 8-bit codes do not fit.

struct alignas(64) Expanded32 {
  uint8_t code[64][64];  // [k/4][row][k%4]
  __m256 d[8][2], m[8][2];
};

// kBits 4, 5 or 8; codes are unsigned, biased by kBias.
template <int kBits, bool kMin, int kBias>
struct B32 {
  static_assert(kBits != 8 || !kNarrowSums);
  using At = Panel32<kBits, kMin>;
  static constexpr bool kFive = kBits == 5;
  static constexpr uint32_t kCodeBytes = At::kHighAt;  // of a block
  static constexpr uint32_t kBytes = 8 * At::kBytes;
  using Expanded = Expanded32;

  static const uint8_t* line_at(const uint8_t* sb, uint32_t j, int z) {
    return sb + j * kCodeBytes + static_cast<uint32_t>(z) * (kCodeBytes / 4);
  }
  static const uint8_t* plane_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kHighAt + j * 64;
  }
  static const uint8_t* d_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kDAt + j * 32;
  }
  static const uint8_t* m_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kMAt + j * 32;
  }
  static Quads codes(const uint8_t* line, const __m256i plane[2], int z) {
    if constexpr (kBits == 8) return flipped(byte_codes(line));
    if constexpr (kBits == 5) return five_bits(line, plane, z);
    return four_bits(line);
  }

  static void expand(const uint8_t* sb, uint32_t n, Expanded& e) {
    for (uint32_t j = 0; j < n; ++j) {
      const uint8_t* high = kFive ? plane_at(sb, n, j) : sb;
      const __m256i plane[2] = {load256(high), load256(high + 32)};
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z)
        store_quads(e.code[j * 8 + static_cast<uint32_t>(z) * 2],
                    codes(line_at(sb, j, z), plane, z));
      for (int h = 0; h < 2; ++h) {
        e.d[j][h] = half_scales(d_at(sb, n, j) + 16 * h);
        if constexpr (kMin) e.m[j][h] = half_scales(m_at(sb, n, j) + 16 * h);
      }
    }
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         __m256 (*acc)[2]) {
    const uint32_t left = (a.k - b * 256) / 32, n = left < 8 ? left : 8;
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    for (uint32_t j = 0; j < n; ++j) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, j);
      __m256i plane[2], lanes[R][2], isum[R][2];
      if constexpr (kFive && !kExpanded) {
        plane[0] = load256(plane_at(sb, n, j));
        plane[1] = load256(plane_at(sb, n, j) + 32);
      }
      clear<R>(lanes);
#pragma GCC unroll 4
      for (int z = 0; z < 4; ++z) {
        Quads c;
        if constexpr (kExpanded) {
          c = byte_codes(e->code[j * 8 + static_cast<uint32_t>(z) * 2]);
        } else {
          const uint8_t* line = line_at(sb, j, z);
          c = codes(line, plane, z);
        }
        multiply<R>(c, in.q, b * 256 + j * 32 + static_cast<uint32_t>(z) * 8, lanes);
        if (kFive && kNarrowSums && z == 1) {
#pragma GCC unroll 4
          for (int i = 0; i < R; ++i)
#pragma GCC unroll 2
            for (int h = 0; h < 2; ++h) isum[i][h] = row_sums(lanes[i][h]);
          clear<R>(lanes);
        }
      }
      __m256 d[2], m[2];
      for (int h = 0; h < 2; ++h) {
        d[h] = kExpanded ? e->d[j][h] : half_scales(d_at(sb, n, j) + 16 * h);
        if constexpr (kMin) m[h] = kExpanded ? e->m[j][h] : half_scales(m_at(sb, n, j) + 16 * h);
      }
#pragma GCC unroll 4
      for (int i = 0; i < R; ++i) {
        const __m256 dx = _mm256_broadcast_ss(in.dx(a, i) + b * 8 + j);
        const __m256 s = _mm256_broadcast_ss(in.sum_f32(a, i) + b * 8 + j);
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
          __m256i dot = row_sums(lanes[i][h]);
          if constexpr (kFive && kNarrowSums) dot = _mm256_add_epi32(dot, isum[i][h]);
          __m256 value = _mm256_cvtepi32_ps(dot);
          if constexpr (kBias != 0) value = _mm256_fnmadd_ps(_mm256_set1_ps(kBias), s, value);
          if constexpr (kMin) acc[i][h] = _mm256_fmadd_ps(_mm256_mul_ps(m[h], dx), s, acc[i][h]);
          acc[i][h] = _mm256_fmadd_ps(_mm256_mul_ps(d[h], dx), value, acc[i][h]);
        }
      }
    }
  }
};
