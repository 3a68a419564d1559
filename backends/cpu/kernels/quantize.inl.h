// Rounding of activations to int8 (quant/activation.h says what; its scalar function is the reference).

void quantize(const float* x, const ActivationForm& f, uint8_t* row) {
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
    uint32_t amax_bits = 0;
    for (uint32_t lane : lanes) amax_bits = lane > amax_bits ? lane : amax_bits;
    const float amax = float_from_bits(amax_bits);
    const bool bad = amax_bits >= 0x7f800000u;
    if (bad || amax < 0x1p-118f) {
      dx[g] = bad ? __builtin_nanf("") : 0.0f;
      for (uint32_t i = 0; i < group; ++i) q[begin + i] = 0;
      continue;
    }
    dx[g] = amax / 127.0f;
    const float inverse = 127.0f / amax;
    // Adding 1.5 * 2^23 rounds to an integer, ties to even; |x * inverse| <= 127.00002.
    for (uint32_t i = 0; i < group; ++i) {
      const float v = (in[i] * inverse + 0x1.8p23f) - 0x1.8p23f;
      q[begin + i] = static_cast<int8_t>(
          static_cast<int32_t>(v > 127.0f ? 127.0f : (v < -127.0f ? -127.0f : v)));
    }
  }
  auto* sum_f32 = reinterpret_cast<float*>(row + f.sum_at);
  auto* sum_i16 = reinterpret_cast<int16_t*>(row + f.sum_at);
  auto* bias = reinterpret_cast<int16_t*>(row + f.bias_at);
  for (uint32_t j = 0; j < f.k / 32; ++j) {
    int32_t by_lane[4] = {}, half[4] = {};
    for (uint32_t i = 0; i < 16; ++i) half[i % 4] += q[32 * j + i];
    for (uint32_t i = 0; i < 16; ++i) by_lane[i % 4] += q[32 * j + 16 + i];
    const int32_t low0 = half[0] + half[1], high0 = half[2] + half[3];
    const int32_t low1 = by_lane[0] + by_lane[1], high1 = by_lane[2] + by_lane[3];
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
