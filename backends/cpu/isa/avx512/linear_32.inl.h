// AVX-512 VNNI, 32-block types. Per block: t = d_j * dx_j; acc = fma(t, I_j, acc), with a minimum
// fma(t, I_j, fma(m_j * dx_j, S_j, acc)).

struct alignas(64) Expanded32 {
  uint8_t code[64][64];
  __m512 d[8], m[8];
};

// kBits 4, 5 or 8; codes are unsigned with `kBias` taken off through S_j, exactly in float (I_j < 2^24).
template <int kBits, bool kMin, int kBias>
struct B32 {
  using At = Panel32<kBits, kMin>;
  static constexpr uint32_t kCodeBytes = At::kHighAt;  // of a block
  static constexpr uint32_t kBytes = 8 * At::kBytes;
  using Expanded = Expanded32;

  static __m512i plane(const uint8_t* sb, uint32_t n, uint32_t j) {
    return kBits == 5 ? load512(sb + n * At::kHighAt + j * 64) : _mm512_setzero_si512();
  }
  // acc with a block of a row: its dx, its sum of q, and the block's sum.
  static __m512 joined(__m512 d, __m512 m, const void* dx_at, const void* sum_at, __m512 value,
                       __m512 acc) {
    const __m512 dx = broadcast_float(dx_at);
    if constexpr (kMin) acc = _mm512_fmadd_ps(_mm512_mul_ps(m, dx), broadcast_float(sum_at), acc);
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
        acc[i] = joined(d, m, in.dx(a, i) + b * 8 + j, in.sum_f32(a, i) + b * 8 + j, value, acc[i]);
      }
    }
  }
};
