// SVE, any vector length: codes out of P16 lines. A line of 64 bytes is [16 rows][4 k]; a slice of it is what one vector holds, from
// output `at` on: 4 outputs at 128 bits, 8 at 256, all 16 from 512 on. A kernel takes one slice over a whole stripe, then the next.
// Codes of 4 to 6 bits are unsigned, those of Q8_0 signed: all fit int8. Sizeless types stand in no array or struct, so sums of up to
// four rows are four variables; what is beyond R is never read.

struct Slice {
  uint32_t at;  // first output
  svbool_t bytes() const { return svwhilelt_b8(4 * at, uint32_t{64}); }
  svbool_t lanes() const { return svwhilelt_b32(at, uint32_t{16}); }
};

inline svfloat32_t half_slice(Slice s, const uint8_t* halves) {
  const svuint32_t bits = svld1uh_u32(s.lanes(), reinterpret_cast<const uint16_t*>(halves) + s.at);
  return svcvt_f32_f16_x(svptrue_b32(), svreinterpret_f16_u32(bits));
}

constexpr uint32_t step_bytes(int bits) { return bits == 8 ? 256 : 128; }  // of 16 k

inline svuint8_t low4(svuint8_t v) { return svand_n_u8_x(svptrue_b8(), v, 15); }
inline svuint8_t high4(svuint8_t v) { return svlsr_n_u8_x(svptrue_b8(), v, 4); }
// low | bits: the four bits from `from` on moved to bit 4, of which mask is wanted
template <int kFrom>
inline svuint8_t join_bits(svuint8_t low, svuint8_t bits, uint8_t mask) {
  const svbool_t all = svptrue_b8();
  if constexpr (kFrom < 4)
    bits = svlsl_n_u8_x(all, bits, 4 - kFrom);
  else if constexpr (kFrom > 4)
    bits = svlsr_n_u8_x(all, bits, kFrom - 4);
  return svorr_u8_x(all, low, svand_n_u8_x(all, bits, mask));
}

// 16 k of codes of kBits bits: four vectors of 4 k. high: the bits above the fourth, from the lowest bit of each byte on.
template <int kBits>
inline void unpack_step(Slice s, const uint8_t* line, svuint8_t high, svint8_t& w0, svint8_t& w1,
                        svint8_t& w2, svint8_t& w3) {
  const svbool_t in = s.bytes();
  const uint8_t* p = line + 4 * s.at;
  if constexpr (kBits == 8) {
    w0 = svreinterpret_s8_u8(svld1_u8(in, p));
    w1 = svreinterpret_s8_u8(svld1_u8(in, p + 64));
    w2 = svreinterpret_s8_u8(svld1_u8(in, p + 128));
    w3 = svreinterpret_s8_u8(svld1_u8(in, p + 192));
  } else {
    const svuint8_t a = svld1_u8(in, p), b = svld1_u8(in, p + 64);
    svuint8_t c0 = low4(a), c1 = high4(a), c2 = low4(b), c3 = high4(b);
    if constexpr (kBits > 4) {
      constexpr int kHigh = kBits - 4;
      constexpr uint8_t kMask = kBits == 5 ? 0x10 : 0x30;
      c0 = join_bits<0>(c0, high, kMask);
      c1 = join_bits<kHigh>(c1, high, kMask);
      c2 = join_bits<2 * kHigh>(c2, high, kMask);
      c3 = join_bits<3 * kHigh>(c3, high, kMask);
    }
    w0 = svreinterpret_s8_u8(c0);
    w1 = svreinterpret_s8_u8(c1);
    w2 = svreinterpret_s8_u8(c2);
    w3 = svreinterpret_s8_u8(c3);
  }
}

// Codes as bytes: four lines of 4 k.
inline void store_step(Slice s, int8_t* lines, svint8_t w0, svint8_t w1, svint8_t w2, svint8_t w3) {
  const svbool_t out = s.bytes();
  int8_t* p = lines + 4 * s.at;
  svst1_s8(out, p, w0);
  svst1_s8(out, p + 64, w1);
  svst1_s8(out, p + 128, w2);
  svst1_s8(out, p + 192, w3);
}
inline void load_step(Slice s, const int8_t* lines, svint8_t& w0, svint8_t& w1, svint8_t& w2,
                      svint8_t& w3) {
  unpack_step<8>(s, reinterpret_cast<const uint8_t*>(lines), svdup_n_u8(0), w0, w1, w2, w3);
}

// sum += codes . 16 k of one input row
inline void dot_row(svint8_t w0, svint8_t w1, svint8_t w2, svint8_t w3, const int8_t* q,
                    svint32_t& sum) {
  const svint8_t in = svld1rq_s8(svptrue_b8(), q);
  sum = svdot_lane_s32(sum, w0, in, 0);
  sum = svdot_lane_s32(sum, w1, in, 1);
  sum = svdot_lane_s32(sum, w2, in, 2);
  sum = svdot_lane_s32(sum, w3, in, 3);
}
template <int R>
inline void dot_rows(svint8_t w0, svint8_t w1, svint8_t w2, svint8_t w3, const int8_t* const* q,
                     uint32_t k, svint32_t& s0, svint32_t& s1, svint32_t& s2, svint32_t& s3) {
  dot_row(w0, w1, w2, w3, q[0] + k, s0);
  if constexpr (R > 1) dot_row(w0, w1, w2, w3, q[1] + k, s1);
  if constexpr (R > 2) dot_row(w0, w1, w2, w3, q[2] + k, s2);
  if constexpr (R > 3) dot_row(w0, w1, w2, w3, q[3] + k, s3);
}
// total += sum * scale, for R rows
template <int R>
inline void add_scaled(svint32_t scale, svint32_t s0, svint32_t s1, svint32_t s2, svint32_t s3,
                       svint32_t& t0, svint32_t& t1, svint32_t& t2, svint32_t& t3) {
  const svbool_t all = svptrue_b32();
  t0 = svmla_s32_x(all, t0, s0, scale);
  if constexpr (R > 1) t1 = svmla_s32_x(all, t1, s1, scale);
  if constexpr (R > 2) t2 = svmla_s32_x(all, t2, s2, scale);
  if constexpr (R > 3) t3 = svmla_s32_x(all, t3, s3, scale);
}
