// Loops over whole vocabularies. Built twice from row_kernels.inl.h: for the baseline, and for processors with AVX2. Integers, and
// floats without fused multiply-adds: both give the same bits, the second one sooner.
#pragma once

#include <cstddef>
#include <cstdint>

namespace llmrt {

inline constexpr size_t kWordBatch =
    256;  // words of noise that callers take at a time, on the stack

struct RowKernels {
  // words[i] = word 1 of philox4x32({ids[i], position, stream, 0}, seed) for i < n: the upper half of what uniform() makes a float of.
  void (*draw_words)(uint64_t seed, uint32_t position, uint32_t stream, const uint32_t* ids,
                     size_t n, uint32_t* words);
  // Sum of mass_of(logits[i], max), mass.h, for i < n.
  uint64_t (*total_mass)(const float* logits, size_t n, float max);
};

const RowKernels& row_kernels();  // the best build this processor runs

namespace row_kernels_baseline {
extern const RowKernels kKernels;
}
#if defined(__x86_64__)
namespace row_kernels_avx2 {
extern const RowKernels kKernels;
}
#endif

}  // namespace llmrt
