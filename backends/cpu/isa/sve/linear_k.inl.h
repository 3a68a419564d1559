// SVE, 256-block types. Per superblock: I = sum_j sc_j sum(c q), J = sum_j mn_j S_j in int32;
// acc = fma(fma(d, I, -(dmin * J)), dx, acc).

struct alignas(64) K4Expanded {
  int8_t code[64][64];  // [k/4][row][k%4]
  K4Scales scales;
};
struct alignas(64) K6Expanded {
  int8_t code[64][64];
  int8_t scale[16][16];
  float d[16];
};

template <bool kFive>
struct K4 {
  static constexpr int kBits = kFive ? 5 : 4;
  using At = PanelK<kBits>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K4Expanded;

  static svuint8_t high(Slice s, const uint8_t* sb, uint32_t g) {
    if constexpr (!kFive) return svdup_n_u8(0);
    return svld1_u8(s.bytes(), sb + At::kHighAt + g * 64 + 4 * s.at);
  }

  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (Slice s{0}; s.at < 16; s.at += static_cast<uint32_t>(svcntw()))
      for (uint32_t g = 0; g < 8; ++g) {
        svuint8_t bits = high(s, sb, g);
        for (uint32_t z = 0; z < 2; ++z) {
          svint8_t w0, w1, w2, w3;
          unpack_step<kBits>(s, sb + (g * 2 + z) * 128, bits, w0, w1, w2, w3);
          store_step(s, e.code[g * 8 + z * 4], w0, w1, w2, w3);
          bits = high4(bits);
        }
      }
    unpack_k4_scales(sb + At::kScalesAt, e.scales);
  }

  template <int R>
  static svfloat32_t joined(const LinearArgs& a, const InputRows<R>& in, int i, uint32_t b, Slice s,
                            const K4Scales& scales, svint32_t isum, svfloat32_t acc) {
    const svbool_t all = svptrue_b32(), lanes = s.lanes();
    const int16_t* sums = in.sum_i16(a, i) + b * 8;
    svint32_t jsum = svdup_n_s32(0);
    for (uint32_t j = 0; j < 8; ++j)
      jsum = svmla_n_s32_x(all, jsum, svld1sh_s32(lanes, scales.min[j] + s.at), sums[j]);
    const svfloat32_t owed =
        svmul_f32_x(all, svld1_f32(lanes, scales.dmin + s.at), svcvt_f32_s32_x(all, jsum));
    const svfloat32_t t =  // d I - owed, rounded once
        svnmls_f32_x(all, owed, svld1_f32(lanes, scales.d + s.at), svcvt_f32_s32_x(all, isum));
    return svmla_n_f32_x(all, acc, t, in.dx(a, i)[b]);
  }

  // A slice of one superblock, of R rows.
  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, Slice s, const uint8_t* sb,
                         uint32_t b, svfloat32_t& f0, svfloat32_t& f1, svfloat32_t& f2,
                         svfloat32_t& f3) {
    K4Scales unpacked;
    if constexpr (!kExpanded) unpack_k4_scales(sb + At::kScalesAt, unpacked);
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    const K4Scales& scales = kExpanded ? e->scales : unpacked;
    const svint32_t zeros = svdup_n_s32(0);
    svint32_t i0 = zeros, i1 = zeros, i2 = zeros, i3 = zeros;
    for (uint32_t g = 0; g < 8; ++g) {
      if constexpr (!kExpanded) prefetch_next<kBytes, 8>(sb, g);
      svint32_t s0 = zeros, s1 = zeros, s2 = zeros, s3 = zeros;
      svuint8_t bits = svdup_n_u8(0);
      if constexpr (!kExpanded) bits = high(s, sb, g);
      for (uint32_t z = 0; z < 2; ++z) {
        svint8_t w0, w1, w2, w3;
        if constexpr (kExpanded) {
          load_step(s, e->code[g * 8 + z * 4], w0, w1, w2, w3);
        } else {
          const uint8_t* line = sb + (g * 2 + z) * 128;
          unpack_step<kBits>(s, line, bits, w0, w1, w2, w3);
          bits = high4(bits);
        }
        dot_rows<R>(w0, w1, w2, w3, in.q, b * 256 + g * 32 + z * 16, s0, s1, s2, s3);
      }
      add_scaled<R>(svld1sh_s32(s.lanes(), scales.scale[g] + s.at), s0, s1, s2, s3, i0, i1, i2, i3);
    }
    f0 = joined(a, in, 0, b, s, scales, i0, f0);
    if constexpr (R > 1) f1 = joined(a, in, 1, b, s, scales, i1, f1);
    if constexpr (R > 2) f2 = joined(a, in, 2, b, s, scales, i2, f2);
    if constexpr (R > 3) f3 = joined(a, in, 3, b, s, scales, i3, f3);
  }
};

struct K6 {
  using At = PanelK<6>;
  static constexpr uint32_t kBytes = At::kBytes;
  using Expanded = K6Expanded;

  static svuint8_t high(Slice s, const uint8_t* sb, uint32_t j) {
    return svld1_u8(s.bytes(), sb + At::kHighAt + j * 64 + 4 * s.at);
  }

  static void expand(const uint8_t* sb, uint32_t, Expanded& e) {
    for (Slice s{0}; s.at < 16; s.at += static_cast<uint32_t>(svcntw()))
      for (uint32_t j = 0; j < 16; ++j) {
        svint8_t w0, w1, w2, w3;
        unpack_step<6>(s, sb + j * 128, high(s, sb, j), w0, w1, w2, w3);
        store_step(s, e.code[j * 4], w0, w1, w2, w3);
      }
    __builtin_memcpy(e.scale, sb + At::kScalesAt, sizeof e.scale);
    store_halves(sb + At::kDAt, e.d);
  }

  // -32 * (sum of q): the two halves of bias32 added.
  template <int R>
  static svint32_t owed(const LinearArgs& a, const InputRows<R>& in, int i, uint32_t sixteen) {
    const int16_t* bias = in.bias(a, i) + sixteen * 2;
    return svdup_n_s32(bias[0] + bias[1]);
  }
  template <int R>
  static svfloat32_t joined(const LinearArgs& a, const InputRows<R>& in, int i, uint32_t b,
                            svfloat32_t d, svint32_t isum, svfloat32_t acc) {
    const svbool_t all = svptrue_b32();
    const svfloat32_t t = svmul_f32_x(all, d, svcvt_f32_s32_x(all, isum));
    return svmla_n_f32_x(all, acc, t, in.dx(a, i)[b]);
  }

  template <int R, bool kExpanded>
  static void superblock(const LinearArgs& a, const InputRows<R>& in, Slice s, const uint8_t* sb,
                         uint32_t b, svfloat32_t& f0, svfloat32_t& f1, svfloat32_t& f2,
                         svfloat32_t& f3) {
    const auto* e = reinterpret_cast<const Expanded*>(sb);
    const int8_t* scale =
        kExpanded ? e->scale[0] : reinterpret_cast<const int8_t*>(sb + At::kScalesAt);
    const svbool_t lanes = s.lanes();
    const svint32_t zeros = svdup_n_s32(0);
    svint32_t i0 = zeros, i1 = zeros, i2 = zeros, i3 = zeros;
    for (uint32_t j = 0; j < 16; ++j) {
      const uint32_t sixteen = b * 16 + j;
      svint32_t s0 = owed(a, in, 0, sixteen), s1 = s0, s2 = s0, s3 = s0;
      if constexpr (R > 1) s1 = owed(a, in, 1, sixteen);
      if constexpr (R > 2) s2 = owed(a, in, 2, sixteen);
      if constexpr (R > 3) s3 = owed(a, in, 3, sixteen);
      svint8_t w0, w1, w2, w3;
      if constexpr (kExpanded) {
        load_step(s, e->code[j * 4], w0, w1, w2, w3);
      } else {
        const uint8_t* line = sb + j * 128;
        prefetch_next<kBytes, 16>(sb, j);
        unpack_step<6>(s, line, high(s, sb, j), w0, w1, w2, w3);
      }
      dot_rows<R>(w0, w1, w2, w3, in.q, sixteen * 16, s0, s1, s2, s3);
      add_scaled<R>(svld1sb_s32(lanes, scale + j * 16 + s.at), s0, s1, s2, s3, i0, i1, i2, i3);
    }
    const svfloat32_t d = kExpanded ? svld1_f32(lanes, e->d + s.at) : half_slice(s, sb + At::kDAt);
    f0 = joined(a, in, 0, b, d, i0, f0);
    if constexpr (R > 1) f1 = joined(a, in, 1, b, d, i1, f1);
    if constexpr (R > 2) f2 = joined(a, in, 2, b, d, i2, f2);
    if constexpr (R > 3) f3 = joined(a, in, 3, b, d, i3, f3);
  }
};
