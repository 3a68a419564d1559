// NEON, 32-block types. Per block: t = d_j * dx_j; acc = fma(t, I_j, acc), with a minimum fma(t, I_j, fma(m_j * dx_j, S_j, acc)).
// kBias: what unsigned codes are above the signed ones; the sum starts at -kBias * S_j.

struct alignas(64) Expanded32 {
  int8_t code[32][128];  // as the tile keeps 8 k
  float d[8][16], m[8][16];
};

template <int kBits, bool kMin, int kBias>
struct B32 {
  using At = Panel32<kBits, kMin>;
  static constexpr uint32_t kStep = step_bytes(kBits);
  static constexpr uint32_t kBytes = 8 * At::kBytes;
  using Expanded = Expanded32;

  static HighBits high(const uint8_t* sb, uint32_t n, uint32_t j) {
    return kBits == 5 ? high_bits(sb + n * At::kHighAt + j * 64) : HighBits{};
  }
  static const uint8_t* d_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kDAt + j * 32;
  }
  static const uint8_t* m_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kMAt + j * 32;
  }

  static void expand(const uint8_t* sb, uint32_t n, Expanded& e) {
    for (uint32_t j = 0; j < n; ++j) {
      HighBits bits = high(sb, n, j);
      for (uint32_t z = 0; z < 4; ++z)
        StoredCodes::store_codes(e.code[j * 4 + z],
                                 unpack_step<kBits>(sb + (j * 4 + z) * kStep, bits));
      store_halves(d_at(sb, n, j), e.d[j]);
      if constexpr (kMin) store_halves(m_at(sb, n, j), e.m[j]);
    }
  }

  // One superblock of R rows.
  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, const uint8_t* sb, uint32_t b,
                         float32x4_t (*acc)[4]) {
    const uint32_t left = (a.k - b * 256) / 32, n = left < 8 ? left : 8;
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    for (uint32_t j = 0; j < n; ++j) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, j);
      Tile<R, kExpanded> dot;
      if constexpr (kBias == 0) {
        dot.clear();
      } else {
        int32_t owed[R];
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i)
          owed[i] = -kBias * static_cast<int32_t>(in.sum_f32(a, i)[b * 8 + j]);
        dot.start(owed);
      }
      HighBits bits{};
      if constexpr (!kExpanded) bits = high(sb, n, j);
#pragma GCC unroll 1
      for (uint32_t z = 0; z < 4; ++z) {
        const uint32_t k = b * 256 + j * 32 + z * 8;
        if constexpr (kExpanded) {
          dot.add_stored(e->code[j * 4 + z], in.q, k);
        } else {
          const uint8_t* line = sb + (j * 4 + z) * kStep;
          dot.add(unpack_step<kBits>(line, bits), in.q, k);
        }
      }
#pragma GCC unroll 4
      for (int h = 0; h < 4; ++h) {
        const float32x4_t d =
            kExpanded ? vld1q_f32(e->d[j] + 4 * h) : half_scales(d_at(sb, n, j) + 8 * h);
        float32x4_t m = vdupq_n_f32(0.0f);
        if constexpr (kMin)
          m = kExpanded ? vld1q_f32(e->m[j] + 4 * h) : half_scales(m_at(sb, n, j) + 8 * h);
#pragma GCC unroll 4
        for (int i = 0; i < R; ++i) {
          const float dx = in.dx(a, i)[b * 8 + j];
          if constexpr (kMin)
            acc[i][h] = vfmaq_n_f32(acc[i][h], vmulq_n_f32(m, dx), in.sum_f32(a, i)[b * 8 + j]);
          acc[i][h] = vfmaq_f32(acc[i][h], vmulq_n_f32(d, dx), vcvtq_f32_s32(dot.quarter(i, h)));
        }
      }
    }
  }
};
