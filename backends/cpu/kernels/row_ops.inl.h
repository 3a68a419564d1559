// Row-local operations. Included inside an instruction set's namespace after simd/<isa>.h.
// Plain loops over base/math.h's branch-free functions vectorise and give the same bits at every width.

// ss = sum x^2 in 16 lanes, one fma per element, lanes added by the halving tree; a row's tail uses the first lanes.
void norm(const float* x, const float* weight, float* out, uint32_t n, float eps) {
  F squares = zero();
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const F v = load(x + i);
    squares = fma(v, v, squares);
  }
  if (i < n) {
    float tail[16] = {};
    for (uint32_t j = i; j < n; ++j) tail[j - i] = x[j];
    const F v = load(tail);
    squares = fma(v, v, squares);
  }
  const float mean = sum(squares) / static_cast<float>(n);
  const float inverse = 1.0f / __builtin_sqrtf(mean + eps);
  for (uint32_t j = 0; j < n; ++j) out[j] = x[j] * inverse * weight[j];
}

void rope_angles(int32_t pos, const double* inv_freq, uint32_t n, float mscale, float* cosine,
                 float* sine) {
  for (uint32_t j = 0; j < n; ++j) {
    const SinCos sc = sincos_f64(static_cast<double>(pos) * inv_freq[j]);
    cosine[j] = static_cast<float>(sc.cos * static_cast<double>(mscale));
    sine[j] = static_cast<float>(sc.sin * static_cast<double>(mscale));
  }
}

// (a, b) -> (a cos - b sin, a sin + b cos) for each pair of a head; lanes beyond the pairs are copied.
void rope(const float* x, float* out, uint32_t n_head, uint32_t d_head, uint32_t n_pairs,
          RopePairs pairs, const float* cosine, const float* sine) {
  for (uint32_t h = 0; h < n_head; ++h, x += d_head, out += d_head) {
    if (pairs == RopePairs::halves) {
      for (uint32_t j = 0; j < n_pairs; ++j) {
        const float a = x[j], b = x[j + n_pairs];
        out[j] = a * cosine[j] - b * sine[j];
        out[j + n_pairs] = a * sine[j] + b * cosine[j];
      }
    } else {
      for (uint32_t j = 0; j < n_pairs; ++j) {
        const float a = x[2 * j], b = x[2 * j + 1];
        out[2 * j] = a * cosine[j] - b * sine[j];
        out[2 * j + 1] = a * sine[j] + b * cosine[j];
      }
    }
    for (uint32_t j = 2 * n_pairs; j < d_head; ++j) out[j] = x[j];
  }
}

void glu(const float* gate, const float* up, float* out, uint32_t n, Activation act) {
  if (act == Activation::silu) {
    for (uint32_t i = 0; i < n; ++i) out[i] = silu_f32(gate[i]) * up[i];
  } else {
    for (uint32_t i = 0; i < n; ++i) out[i] = gelu_tanh_f32(gate[i]) * up[i];
  }
}

void add_rows(const float* a, const float* b, float* out, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
}

// Whole vectors, so that many lines of `to` are under way at once: they come from afar.
void put_panels(const float* sums, uint32_t n_panels, uint32_t n_rows, float* to, size_t to_stride,
                const float* more, size_t more_stride) {
  for (uint32_t r = 0; r < n_rows; ++r)
    for (uint32_t p = 0; p < n_panels; ++p) {
      const F sum = load(sums + (size_t{p} * n_rows + r) * 16);
      store(to + r * to_stride + p * 16,
            more ? add(sum, load(more + r * more_stride + p * 16)) : sum);
    }
}

void scale_row(const float* x, float factor, float* out, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) out[i] = x[i] * factor;
}

void softcap_row(const float* x, float cap, float* out, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) out[i] = cap * tanh_f32(x[i] / cap);
}

// One insertion a score: most fail at the first comparison. NaN is above all, so that it reaches every weight.
inline bool above(float a, float b) { return a > b || (a != a && b == b); }

void route_row(const float* scores, float* out, uint32_t n_expert, uint32_t n_used,
               bool renormalise) {
  float* weight = out + n_used;  // at first the score
  uint32_t n = 0;
  for (uint32_t e = 0; e < n_expert; ++e) {
    const float x = scores[e];
    if (n == n_used && !above(x, weight[n - 1])) continue;
    uint32_t r = n < n_used ? n++ : n - 1;
    for (; r > 0 && above(x, weight[r - 1]); --r) {
      out[r] = out[r - 1];
      weight[r] = weight[r - 1];
    }
    out[r] = static_cast<float>(e);
    weight[r] = x;
  }
  const float largest = weight[0];
  float total = 0.0f;
  if (!renormalise)
    for (uint32_t e = 0; e < n_expert; ++e) total += exp_f32(scores[e] - largest);
  for (uint32_t r = 0; r < n_used; ++r) {
    weight[r] = exp_f32(weight[r] - largest);
    if (renormalise) total += weight[r];
  }
  for (uint32_t r = 0; r < n_used; ++r) weight[r] /= total;
}

void weighted_sum(const float* in, const float* weight, uint32_t n_terms, float* out, uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) out[i] = 0.0f;
  for (uint32_t r = 0; r < n_terms; ++r, in += n)
    for (uint32_t i = 0; i < n; ++i) out[i] = __builtin_fmaf(weight[r], in[i], out[i]);
}
