// SVE, 32-block types. Per block: t = d_j * dx_j; acc = fma(t, I_j, acc), with a minimum fma(t, I_j, fma(m_j * dx_j, S_j, acc)).
// kBias: what unsigned codes are above the signed ones; the sum starts at -kBias * S_j.

struct alignas(64) Expanded32 {
  int8_t code[64][64];  // [k/4][row][k%4]
  float d[8][16], m[8][16];
};

template <int kBits, bool kMin, int kBias>
struct B32 {
  using At = Panel32<kBits, kMin>;
  static constexpr uint32_t kStep = step_bytes(kBits);
  static constexpr uint32_t kBytes = 8 * At::kBytes;
  using Expanded = Expanded32;

  static svuint8_t high(Slice s, const uint8_t* sb, uint32_t n, uint32_t j) {
    if constexpr (kBits != 5) return svdup_n_u8(0);
    return svld1_u8(s.bytes(), sb + n * At::kHighAt + j * 64 + 4 * s.at);
  }
  static const uint8_t* d_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kDAt + j * 32;
  }
  static const uint8_t* m_at(const uint8_t* sb, uint32_t n, uint32_t j) {
    return sb + n * At::kMAt + j * 32;
  }

  static void expand(const uint8_t* sb, uint32_t n, Expanded& e) {
    for (Slice s{0}; s.at < 16; s.at += static_cast<uint32_t>(svcntw()))
      for (uint32_t j = 0; j < n; ++j) {
        svuint8_t bits = high(s, sb, n, j);
        for (uint32_t z = 0; z < 2; ++z) {
          svint8_t w0, w1, w2, w3;
          unpack_step<kBits>(s, sb + (j * 2 + z) * kStep, bits, w0, w1, w2, w3);
          store_step(s, e.code[j * 8 + z * 4], w0, w1, w2, w3);
          bits = high4(bits);
        }
      }
    for (uint32_t j = 0; j < n; ++j) {
      store_halves(d_at(sb, n, j), e.d[j]);
      if constexpr (kMin) store_halves(m_at(sb, n, j), e.m[j]);
    }
  }

  template <int R>
  static svint32_t owed(const LinearArgs& a, const InputRows<R>& in, int i, uint32_t block) {
    if constexpr (kBias == 0) return svdup_n_s32(0);
    return svdup_n_s32(-kBias * static_cast<int32_t>(in.sum_f32(a, i)[block]));
  }
  template <int R>
  static svfloat32_t joined(const LinearArgs& a, const InputRows<R>& in, int i, uint32_t block,
                            svfloat32_t d, svfloat32_t m, svint32_t dot, svfloat32_t acc) {
    const svbool_t all = svptrue_b32();
    const float dx = in.dx(a, i)[block];
    if constexpr (kMin)
      acc = svmla_n_f32_x(all, acc, svmul_n_f32_x(all, m, dx), in.sum_f32(a, i)[block]);
    return svmla_f32_x(all, acc, svmul_n_f32_x(all, d, dx), svcvt_f32_s32_x(all, dot));
  }

  // A slice of one superblock, of R rows.
  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, Slice s, const uint8_t* sb,
                         uint32_t b, svfloat32_t& f0, svfloat32_t& f1, svfloat32_t& f2,
                         svfloat32_t& f3) {
    const uint32_t left = (a.k - b * 256) / 32, n = left < 8 ? left : 8;
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    for (uint32_t j = 0; j < n; ++j) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, j);
      const uint32_t block = b * 8 + j;
      svint32_t s0 = owed(a, in, 0, block), s1 = s0, s2 = s0, s3 = s0;
      if constexpr (R > 1) s1 = owed(a, in, 1, block);
      if constexpr (R > 2) s2 = owed(a, in, 2, block);
      if constexpr (R > 3) s3 = owed(a, in, 3, block);
      svuint8_t bits = svdup_n_u8(0);
      if constexpr (!kExpanded) bits = high(s, sb, n, j);
      for (uint32_t z = 0; z < 2; ++z) {
        svint8_t w0, w1, w2, w3;
        if constexpr (kExpanded) {
          load_step(s, e->code[j * 8 + z * 4], w0, w1, w2, w3);
        } else {
          const uint8_t* line = sb + (j * 2 + z) * kStep;
          unpack_step<kBits>(s, line, bits, w0, w1, w2, w3);
          bits = high4(bits);
        }
        dot_rows<R>(w0, w1, w2, w3, in.q, block * 32 + z * 16, s0, s1, s2, s3);
      }
      const svbool_t lanes = s.lanes();
      const svfloat32_t d =
          kExpanded ? svld1_f32(lanes, e->d[j] + s.at) : half_slice(s, d_at(sb, n, j));
      svfloat32_t m = d;
      if constexpr (kMin)
        m = kExpanded ? svld1_f32(lanes, e->m[j] + s.at) : half_slice(s, m_at(sb, n, j));
      f0 = joined(a, in, 0, block, d, m, s0, f0);
      if constexpr (R > 1) f1 = joined(a, in, 1, block, d, m, s1, f1);
      if constexpr (R > 2) f2 = joined(a, in, 2, block, d, m, s2, f2);
      if constexpr (R > 3) f3 = joined(a, in, 3, block, d, m, s3, f3);
    }
  }
};
