// NEON: codes out of P16 lines. A line of 64 bytes is four registers of [4 rows][4 k], called quarters. Codes of 4 to 6 bits are
// unsigned, those of Q8_0 signed: all fit int8, so products with activations are s8 x s8.
//
// Loops over steps of 8 k stay loops: unrolled, GCC 12 loads the codes of all steps first and spills the sums.

// The codes of 8 k.
struct Quads {
  int8x16_t w[2][4];  // [4 k of the pair][quarter]
};

// The bits above the fourth of 32 k (5-bit codes) or of 16 k (6-bit codes).
struct HighBits {
  uint8x16_t plane[4];
};
inline HighBits high_bits(const uint8_t* line) {
  return {{vld1q_u8(line), vld1q_u8(line + 16), vld1q_u8(line + 32), vld1q_u8(line + 48)}};
}

constexpr uint32_t step_bytes(int bits) { return bits == 8 ? 128 : 64; }  // of 8 k

// Codes of kBits bits, for 8 k. Their high bits are the lowest of each byte of the plane, which moves on to the next 8 k.
template <int kBits>
inline Quads unpack_step(const uint8_t* line, HighBits& high) {
  Quads c;
#pragma GCC unroll 4
  for (int h = 0; h < 4; ++h) {
    if constexpr (kBits == 8) {
      c.w[0][h] = vreinterpretq_s8_u8(vld1q_u8(line + 16 * h));
      c.w[1][h] = vreinterpretq_s8_u8(vld1q_u8(line + 64 + 16 * h));
    } else if constexpr (kBits == 4) {
      const uint8x16_t v = vld1q_u8(line + 16 * h);
      c.w[0][h] = vreinterpretq_s8_u8(vandq_u8(v, vdupq_n_u8(15)));
      c.w[1][h] = vreinterpretq_s8_u8(vshrq_n_u8(v, 4));
    } else {
      // vsli: the low 4 bits of the first, the plane's bits above them
      const uint8x16_t v = vld1q_u8(line + 16 * h), mask = vdupq_n_u8((1u << kBits) - 1);
      const uint8x16_t first = high.plane[h], second = vshrq_n_u8(first, kBits - 4);
      c.w[0][h] = vreinterpretq_s8_u8(vandq_u8(vsliq_n_u8(v, first, 4), mask));
      c.w[1][h] = vreinterpretq_s8_u8(vandq_u8(vsliq_n_u8(vshrq_n_u8(v, 4), second, 4), mask));
      high.plane[h] = vshrq_n_u8(second, kBits - 4);
    }
  }
  return c;
}
