// Class a8 for packed types from quant/panel.h's exact decoder, for the scalar table. One superblock is decoded once for all rows.
// Included inside an instruction set's namespace.

// I = sum_j sc_j sum(c q) and, with minimums, J = sum_j mn_j S_j; both exact in int32.
inline void superblock_integers(const PanelCodes& codes, const int8_t* q, const int16_t* bias,
                                uint32_t r, int32_t& i_sum, int32_t& j_sum) {
  i_sum = j_sum = 0;
  for (uint32_t h = 0; h < 16; ++h) {
    int32_t dot = 0;
    for (uint32_t t = 0; t < 4; ++t)
      for (uint32_t e = 0; e < 4; ++e) dot += codes.code[4 * h + t][r][e] * q[16 * h + 4 * t + e];
    i_sum += codes.sub_scale[h][r] * dot;
    if (codes.has_min) j_sum += codes.sub_min[h][r] * ((bias[2 * h] + bias[2 * h + 1]) / -32);
  }
}

template <DType kType, bool kSuper>
void linear_codes(const LinearArgs& a) {
  auto* stripes = reinterpret_cast<float*>(a.scratch);  // [n_rows][16]
  auto& codes = *reinterpret_cast<PanelCodes*>(a.scratch + kMaxLinearRows * 64);
  const uint32_t sb_bytes = superblock_bytes(kType);
  const uint32_t n_super = n_superblocks(a.k);
  const auto edge = [n_super](uint32_t i) {
    return LLMRT_PLANT(wrong_stripe_edge, stripe_edge(n_super, i), (n_super * i + 7) / 8);
  };
  for (uint32_t i = 0; i < a.n_rows * 16; ++i) a.out[i] = 0.0f;
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = edge(s), end = edge(s + 1);
    if (begin == end) continue;
    for (uint32_t i = 0; i < a.n_rows * 16; ++i) stripes[i] = 0.0f;
    for (uint32_t b = begin; b < end; ++b) {
      const uint32_t n_blocks = (a.k - b * 256 < 256 ? a.k - b * 256 : 256) / 32;
      decode_panel_codes(kType, a.panel + size_t{b} * sb_bytes, n_blocks, codes);
      for (uint32_t i = 0; i < a.n_rows; ++i) {
        const uint8_t* in = a.in + i * a.in_stride;
        const auto* q = reinterpret_cast<const int8_t*>(in) + b * 256;
        const auto* dx = reinterpret_cast<const float*>(in + a.form->dx_at);
        float* acc = stripes + i * 16;
        if constexpr (kSuper) {
          const auto* bias = reinterpret_cast<const int16_t*>(in + a.form->bias_at) + b * 32;
          for (uint32_t r = 0; r < 16; ++r) {
            int32_t i_sum, j_sum;
            superblock_integers(codes, q, bias, r, i_sum, j_sum);
            float t = codes.d[0][r] * static_cast<float>(i_sum);
            if (codes.has_min)
              t = __builtin_fmaf(codes.d[0][r], static_cast<float>(i_sum),
                                 -(codes.m[0][r] * static_cast<float>(j_sum)));
            acc[r] = __builtin_fmaf(t, dx[b], acc[r]);
          }
        } else {
          const auto* sums = reinterpret_cast<const float*>(in + a.form->sum_at) + b * 8;
          for (uint32_t j = 0; j < n_blocks; ++j)
            for (uint32_t r = 0; r < 16; ++r) {
              int32_t dot = 0;
              for (uint32_t t = 0; t < 8; ++t)
                for (uint32_t e = 0; e < 4; ++e)
                  dot += codes.code[8 * j + t][r][e] * q[32 * j + 4 * t + e];
              const float scale = codes.d[j][r] * dx[b * 8 + j];
              const float with_min =
                  codes.has_min ? __builtin_fmaf(codes.m[j][r] * dx[b * 8 + j], sums[j], acc[r])
                                : acc[r];
              acc[r] = __builtin_fmaf(scale, static_cast<float>(dot), with_min);
            }
        }
      }
    }
    for (uint32_t i = 0; i < a.n_rows * 16; ++i) a.out[i] += stripes[i];
  }
}
