// Class f32: float32 activations, one fma per k, ascending inside each of the 8 stripes, stripes added ascending (docs/NUMERICS.md).
// Weights are F32, F16 or BF16 panels; linear_decoded takes any type whose panels keep the file's blocks (quant/panel.h, "others").
// Included inside an instruction set's namespace after simd/<isa>.h.

enum class FloatWeight { f32, f16, bf16 };

constexpr size_t float_bytes(FloatWeight w) { return w == FloatWeight::f32 ? 4 : 2; }

// Two consecutive k of 16 rows.
template <FloatWeight W>
inline void load_two(const uint8_t* p, F& w0, F& w1) {
  if constexpr (W == FloatWeight::f32) {
    w0 = load(reinterpret_cast<const float*>(p));
    w1 = load(reinterpret_cast<const float*>(p) + 16);
  } else if constexpr (W == FloatWeight::f16) {
    load_f16_pairs(p, w0, w1);
  } else {
    load_bf16_pairs(p, w0, w1);
  }
}

// out[r] += sum over k of [begin, end) of W[k] in[r][k]: one stripe of R input rows.
template <FloatWeight W, int R>
void float_tile(const LinearArgs& a, const uint8_t* weights, uint32_t row, uint32_t begin,
                uint32_t end) {
  const float* in[R];
  F acc[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    in[r] = reinterpret_cast<const float*>(a.in + (row + static_cast<uint32_t>(r)) * a.in_stride);
    acc[r] = zero();
  }
  uint32_t k = begin;
  if constexpr (W == FloatWeight::f32) {
    // One k at a time: with the weights of two alive the widest tile would not fit into the registers.
    for (; k < end; ++k, weights += 64) {
      __builtin_prefetch(weights + 2048);
      const F w = load(reinterpret_cast<const float*>(weights));
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) mul_add_each(w, in[r] + k, acc[r]);
    }
  }
  for (; k + 2 <= end; k += 2, weights += 32 * float_bytes(W)) {
    __builtin_prefetch(weights + 2048);
    F w0, w1;
    load_two<W>(weights, w0, w1);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) mul_add_each(w0, in[r] + k, acc[r]);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) mul_add_each(w1, in[r] + k + 1, acc[r]);
  }
  if (k < end) {  // odd K: the panel is padded, the input is not
    F w0, w1;
    load_two<W>(weights, w0, w1);
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) mul_add_each(w0, in[r] + k, acc[r]);
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    float* out = a.out + (row + static_cast<uint32_t>(r)) * 16;
    store(out, add(load(out), acc[r]));
  }
}

template <FloatWeight W>
void float_rows(const LinearArgs& a, const uint8_t* weights, uint32_t begin, uint32_t end) {
  uint32_t row = 0;
  if constexpr (W == FloatWeight::f32)
    for (; row + kFloatRowsAtOnce <= a.n_rows; row += kFloatRowsAtOnce)
      float_tile<W, kFloatRowsAtOnce>(a, weights, row, begin, end);
  if constexpr (kFloatRowsAtOnce >= 4)
    for (; row + 4 <= a.n_rows; row += 4) float_tile<W, 4>(a, weights, row, begin, end);
  if constexpr (kFloatRowsAtOnce >= 2)
    for (; row + 2 <= a.n_rows; row += 2) float_tile<W, 2>(a, weights, row, begin, end);
  for (; row < a.n_rows; ++row) float_tile<W, 1>(a, weights, row, begin, end);
}

template <FloatWeight W>
void linear_float(const LinearArgs& a) {
  for (uint32_t i = 0; i < a.n_rows; ++i) store(a.out + i * 16, zero());
  const uint32_t n_super = n_superblocks(a.k);
  constexpr uint32_t kExpandFrom = 12;  // rows from which a stripe is converted to float once
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s) * kSuperblock;
    const uint32_t edge = stripe_edge(n_super, s + 1) * kSuperblock;
    const uint32_t end = edge < a.k ? edge : a.k;
    if (begin >= end) continue;
    const uint8_t* weights = a.panel + size_t{begin} * 16 * float_bytes(W);
    if constexpr (W != FloatWeight::f32) {
      if (a.n_rows >= kExpandFrom) {
        float* expanded = reinterpret_cast<float*>(a.scratch);
        for (uint32_t k = begin; k < end; k += 2) {
          F w0, w1;
          load_two<W>(weights + size_t{k - begin} * 16 * float_bytes(W), w0, w1);
          store(expanded + size_t{k - begin} * 16, w0);
          store(expanded + size_t{k - begin} * 16 + 16, w1);
        }
        float_rows<FloatWeight::f32>(a, a.scratch, begin, end);
        continue;
      }
    }
    float_rows<W>(a, weights, begin, end);
  }
}

inline void linear_decoded(const LinearArgs& a) {
  for (uint32_t i = 0; i < a.n_rows; ++i) store(a.out + i * 16, zero());
  const uint32_t n_super = n_superblocks(a.k);
  float* expanded = reinterpret_cast<float*>(a.scratch);  // [k][16] of a stripe
  float row[kSuperblock];
  for (uint32_t s = 0; s < kStripes; ++s) {
    const uint32_t begin = stripe_edge(n_super, s) * kSuperblock;
    const uint32_t edge = stripe_edge(n_super, s + 1) * kSuperblock;
    const uint32_t end = edge < a.k ? edge : a.k;
    if (begin >= end) continue;
    for (uint32_t k = begin; k < end; k += kSuperblock) {
      const uint32_t n = end - k < kSuperblock ? end - k : kSuperblock;
      const size_t n_bytes = n / a.format->block * a.format->block_bytes;
      const uint8_t* blocks = a.panel + size_t{k} / a.format->block * a.format->block_bytes * 16;
      for (uint32_t r = 0; r < 16; ++r) {
        a.format->decode(blocks + r * n_bytes, row, n);
        for (uint32_t i = 0; i < n; ++i) expanded[size_t{k - begin + i} * 16 + r] = row[i];
      }
    }
    float_rows<FloatWeight::f32>(a, a.scratch, begin, end);
  }
}
