// The inner loops of the reference interpreter. Built twice from reference_kernels.inl.h: for the baseline, where a fused
// multiply-add may be a library call, and for AVX2 with FMA. Both give the same bits; the second is what makes a 135M model bearable.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

inline constexpr uint32_t kPanel = 16;    // weight rows stored side by side: panel[k][16]
inline constexpr uint32_t kKeyTile = 64;  // keys per attention tile, at absolute positions
// keys summed from fresh (m, l, o), then merged (docs/NUMERICS.md)
inline constexpr uint32_t kKeyChunk = 256;

struct ReferenceKernels {
  // out[r * width + i] = sum_k panel[k * width + i] * x[r * stride + k] for i < width (1 or kPanel), r < n_rows: class f32 of
  // docs/NUMERICS.md.
  void (*linear)(const float* panel, uint32_t width, uint32_t k, const float* x, size_t stride,
                 uint32_t n_rows, float* out);
  // Sum of squares in 16 lanes, lanes added as a tree.
  float (*sum_squares)(const float* x, uint32_t n);
  // scores[p] = q . keys[:, p] for the 64 keys of a tile; keys are transposed: [d][64]. d is padded to 32 with zeros for b16.
  void (*scores_f32)(const float* q, const float* keys, uint32_t d, float* scores);
  void (*scores_b16)(const float* q, const float* keys, uint32_t d, float* scores);
  // out[j] += sum over p in [begin, end) of weights[p] * values[p][j]; d is a multiple of 16.
  void (*weighted_f32)(const float* weights, const float* values, uint32_t begin, uint32_t end,
                       uint32_t d, float* out);
  void (*weighted_b16)(const float* weights, const float* values, uint32_t begin, uint32_t end,
                       uint32_t d, float* out);
  void (*exp_minus)(const float* x, float shift, uint32_t n, float* out);  // exp(x - shift)
  void (*silu_mul)(const float* gate, const float* up, size_t n, float* out);
  void (*gelu_mul)(const float* gate, const float* up, size_t n, float* out);
};

const ReferenceKernels& reference_kernels();  // the best build this processor runs

namespace reference_baseline {
extern const ReferenceKernels kKernels;
}
#if defined(__x86_64__)
namespace reference_avx2 {
extern const ReferenceKernels kKernels;
}
#endif

}  // namespace llmrt
