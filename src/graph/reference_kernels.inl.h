// The loops of reference_kernels.h, once. The including file opens its own namespace first; everything here is local to it, so
// that no symbol of a wide build can stand in for a baseline one. Loops run over outputs, never over the summed index: a vector
// build keeps the order of every sum.

namespace {

// One stripe [begin, end) of k, added to the sums of one row, or of four, which hide each other's latency and never meet.
// The rows are spelled out: a loop over them keeps compilers from holding the sums in registers.
template <uint32_t kWidth>
void add_stripe_1(const float* panel, uint32_t begin, uint32_t end, const float* x, float* sum) {
  float stripe[kWidth] = {};
  for (uint32_t j = begin; j < end; ++j)
    for (uint32_t i = 0; i < kWidth; ++i)
      stripe[i] = __builtin_fmaf(panel[size_t{j} * kWidth + i], x[j], stripe[i]);
  for (uint32_t i = 0; i < kWidth; ++i) sum[i] += stripe[i];
}

template <uint32_t kWidth>
void add_stripe_4(const float* panel, uint32_t begin, uint32_t end, const float* x, size_t stride,
                  float* sum) {
  const float *x0 = x, *x1 = x0 + stride, *x2 = x1 + stride, *x3 = x2 + stride;
  float s0[kWidth] = {}, s1[kWidth] = {}, s2[kWidth] = {}, s3[kWidth] = {};
  for (uint32_t j = begin; j < end; ++j) {
    for (uint32_t i = 0; i < kWidth; ++i) {
      const float w = panel[size_t{j} * kWidth + i];
      s0[i] = __builtin_fmaf(w, x0[j], s0[i]);
      s1[i] = __builtin_fmaf(w, x1[j], s1[i]);
      s2[i] = __builtin_fmaf(w, x2[j], s2[i]);
      s3[i] = __builtin_fmaf(w, x3[j], s3[i]);
    }
  }
  for (uint32_t i = 0; i < kWidth; ++i) {
    sum[i] += s0[i];
    sum[kWidth + i] += s1[i];
    sum[2 * kWidth + i] += s2[i];
    sum[3 * kWidth + i] += s3[i];
  }
}

// K is cut at superblock edges floor(n i / 8), n = ceil(K / 256); each stripe is summed ascending from 0, then stripes ascending.
template <uint32_t kWidth>
void linear_panel(const float* panel, uint32_t k, const float* x, size_t stride, uint32_t n_rows,
                  float* out) {
  const uint32_t n = n_superblocks(k);
  for (uint32_t i = 0; i < n_rows * kWidth; ++i) out[i] = 0.0f;
  uint32_t begin = 0;
  for (uint32_t s = 1; s <= kStripes; ++s) {
    const uint32_t edge = stripe_edge(n, s) * kSuperblock;
    const uint32_t end = edge < k ? edge : k;
    uint32_t r = 0;
    for (; r + 4 <= n_rows; r += 4)
      add_stripe_4<kWidth>(panel, begin, end, x + r * stride, stride, out + size_t{r} * kWidth);
    for (; r < n_rows; ++r)
      add_stripe_1<kWidth>(panel, begin, end, x + r * stride, out + size_t{r} * kWidth);
    begin = end;
  }
}

void linear(const float* panel, uint32_t width, uint32_t k, const float* x, size_t stride,
            uint32_t n_rows, float* out) {
  if (width == 1)
    linear_panel<1>(panel, k, x, stride, n_rows, out);
  else
    linear_panel<kPanel>(panel, k, x, stride, n_rows, out);
}

float sum_squares(const float* x, uint32_t n) {
  float lane[16] = {};
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (uint32_t j = 0; j < 16; ++j) lane[j] = __builtin_fmaf(x[i + j], x[i + j], lane[j]);
  for (uint32_t j = 0; i + j < n; ++j) lane[j] = __builtin_fmaf(x[i + j], x[i + j], lane[j]);
  for (uint32_t half = 8; half > 0; half /= 2)
    for (uint32_t j = 0; j < half; ++j) lane[j] += lane[j + half];
  return lane[0];
}

void scores_f32(const float* q, const float* keys, uint32_t d, float* scores) {
  float sum[kKeyTile] = {};
  for (uint32_t j = 0; j < d; ++j)
    for (uint32_t p = 0; p < kKeyTile; ++p)
      sum[p] = __builtin_fmaf(q[j], keys[size_t{j} * kKeyTile + p], sum[p]);
  for (uint32_t p = 0; p < kKeyTile; ++p) scores[p] = sum[p];
}

// A product over 32 k's is an even and an odd chain of 16 fmas from +0, added, then added to the sum: what TDPBF16PS does.
void scores_b16(const float* q, const float* keys, uint32_t d, float* scores) {
  float sum[kKeyTile] = {};
  for (uint32_t block = 0; block < d; block += 32) {
    float even[kKeyTile] = {}, odd[kKeyTile] = {};
    for (uint32_t j = block; j < block + 32; j += 2) {
      for (uint32_t p = 0; p < kKeyTile; ++p) {
        even[p] = __builtin_fmaf(q[j], keys[size_t{j} * kKeyTile + p], even[p]);
        odd[p] = __builtin_fmaf(q[j + 1], keys[size_t{j + 1} * kKeyTile + p], odd[p]);
      }
    }
    for (uint32_t p = 0; p < kKeyTile; ++p) sum[p] += even[p] + odd[p];
  }
  for (uint32_t p = 0; p < kKeyTile; ++p) scores[p] = sum[p];
}

void weighted_f32(const float* weights, const float* values, uint32_t begin, uint32_t end,
                  uint32_t d, float* out) {
  for (uint32_t p = begin; p < end; ++p)
    for (uint32_t j = 0; j < d; ++j)
      out[j] = __builtin_fmaf(weights[p], values[size_t{p} * d + j], out[j]);
}

// Keys outside [begin, end) have weight 0 and add nothing to a chain that starts from +0, so they are left out.
void weighted_b16(const float* weights, const float* values, uint32_t begin, uint32_t end,
                  uint32_t d, float* out) {
  for (uint32_t block = begin / 32 * 32; block < end; block += 32) {
    const uint32_t first = block < begin ? begin : block;
    const uint32_t last = block + 32 < end ? block + 32 : end;
    for (uint32_t j = 0; j < d; j += 16) {
      float chain[2][16] = {};
      for (uint32_t p = first; p < last; ++p)
        for (uint32_t i = 0; i < 16; ++i)
          chain[p % 2][i] =
              __builtin_fmaf(weights[p], values[size_t{p} * d + j + i], chain[p % 2][i]);
      for (uint32_t i = 0; i < 16; ++i) out[j + i] += chain[0][i] + chain[1][i];
    }
  }
}

void exp_minus(const float* x, float shift, uint32_t n, float* out) {
  for (uint32_t i = 0; i < n; ++i) out[i] = exp_f32(x[i] - shift);
}

void silu_mul(const float* gate, const float* up, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = silu_f32(gate[i]) * up[i];
}

void gelu_mul(const float* gate, const float* up, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = gelu_tanh_f32(gate[i]) * up[i];
}

}  // namespace

extern const ReferenceKernels kKernels;
const ReferenceKernels kKernels = {linear,       sum_squares, scores_f32, scores_b16, weighted_f32,
                                   weighted_b16, exp_minus,   silu_mul,   gelu_mul};
