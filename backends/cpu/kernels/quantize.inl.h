// Rounding of activations (quant/activation.h says what; its scalar function is the reference).

inline float round_bf16(float x) {
  const uint32_t u = float_bits(x);
  const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) & 0xffff0000u;
  const uint32_t quiet = (u & 0xffff0000u) | 0x400000u;
  return float_from_bits((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
inline uint16_t bf16_bits(float x) {
  return static_cast<uint16_t>(float_bits(round_bf16(x)) >> 16);
}

inline void split(const float* x, const ActivationForm& f, uint8_t* row) {
  auto* high = reinterpret_cast<uint16_t*>(row);
  auto* low = reinterpret_cast<uint16_t*>(row + f.low_at);
  for (uint32_t i = 0; i < f.k; ++i) high[i] = bf16_bits(x[i]);
  for (uint32_t i = 0; i < f.k; ++i) low[i] = bf16_bits(x[i] - round_bf16(x[i]));
  for (uint32_t i = f.k; i < f.low_at / 2; ++i) high[i] = low[i] = 0;
}

// Of 16 values q: the sum of those at 0, 1 mod 4 and of those at 2, 3 mod 4. Bytes are biased to be unsigned and added in lanes of 16 bits.
struct PairSums {
  int32_t low, high;
};
inline PairSums pair_sums(const int8_t* q) {
  uint64_t lanes = 0;
  for (uint32_t i = 0; i < 16; i += 8) {
    uint64_t w;
    __builtin_memcpy(&w, q + i, sizeof w);
    w ^= 0x8080808080808080u;
    lanes += (w & 0x00ff00ff00ff00ffu) + ((w >> 8) & 0x00ff00ff00ff00ffu);
  }
  lanes += lanes >> 32;
  return {static_cast<int32_t>(lanes & 0xffffu) - 8 * 128,
          static_cast<int32_t>((lanes >> 16) & 0xffffu) - 8 * 128};
}

void quantize(const float* x, const ActivationForm& f, uint8_t* row) {
  if (f.group == kSplitGroup) {
    split(x, f, row);
    return;
  }
  auto* q = reinterpret_cast<int8_t*>(row);
  auto* dx = reinterpret_cast<float*>(row + f.dx_at);
  const uint32_t group = f.group;
  for (uint32_t begin = 0, g = 0; begin < f.k; begin += group, ++g) {
    const float* in = x + begin;
    uint32_t lanes[16] = {};
    for (uint32_t i = 0; i < group; i += 16)
      for (uint32_t j = 0; j < 16; ++j) {
        const uint32_t magnitude = float_bits(in[i + j]) & 0x7fffffffu;
        lanes[j] = magnitude > lanes[j] ? magnitude : lanes[j];
      }
#pragma GCC unroll 4
    for (uint32_t half = 8; half; half /= 2)
      for (uint32_t j = 0; j < half; ++j)
        lanes[j] = lanes[j + half] > lanes[j] ? lanes[j + half] : lanes[j];
    const uint32_t amax_bits = lanes[0];
    const float amax = float_from_bits(amax_bits);
    const bool bad = amax_bits >= 0x7f800000u;
    if (bad || amax < 0x1p-118f) {
      dx[g] = bad ? __builtin_nanf("") : 0.0f;
      for (uint32_t i = 0; i < group; ++i) q[begin + i] = 0;
      continue;
    }
    dx[g] = amax / 127.0f;
    const float inverse = 127.0f / amax;
    // Adding 1.5 * 2^23 rounds to an integer, ties to even, and leaves it in the low bits. |x * inverse| <= 127.00002, so it is
    // within +-127. No comparison of floats: they may trap, and the loop would not be vectorised.
    for (uint32_t i = 0; i < group; i += 16) {
      int8_t some[16];  // not q: bytes may alias all else
      for (uint32_t j = 0; j < 16; ++j)
        some[j] = static_cast<int8_t>(float_bits(in[i + j] * inverse + 0x1.8p23f) -
                                      float_bits(0x1.8p23f));
      __builtin_memcpy(q + begin + i, some, sizeof some);
    }
  }
  auto* sum_f32 = reinterpret_cast<float*>(row + f.sum_at);
  auto* sum_i16 = reinterpret_cast<int16_t*>(row + f.sum_at);
  auto* bias = reinterpret_cast<int16_t*>(row + f.bias_at);
  for (uint32_t j = 0; j < f.k / 32; ++j) {
    const PairSums first = pair_sums(q + 32 * j), second = pair_sums(q + 32 * j + 16);
    const int32_t low0 = first.low, high0 = first.high, low1 = second.low, high1 = second.high;
    const int32_t total = low0 + high0 + low1 + high1;
    if (group == 32) {
      sum_f32[j] = static_cast<float>(total);
      continue;
    }
    sum_i16[j] = static_cast<int16_t>(total);
    bias[4 * j] = static_cast<int16_t>(-32 * low0);
    bias[4 * j + 1] = static_cast<int16_t>(-32 * high0);
    bias[4 * j + 2] = static_cast<int16_t>(-32 * low1);
    bias[4 * j + 3] = static_cast<int16_t>(-32 * high1);
  }
}
