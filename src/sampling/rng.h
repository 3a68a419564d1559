// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2, 3; SC 2011).
//
//   key = seed_i (64 bits)    counter = (token id, position, stream, 0)
//
// Each draw is a function of its key and counter alone: no generator state exists that a preemption could lose.
#pragma once

#include <array>
#include <cstdint>

namespace llmrt {

enum class RandomStream : uint32_t { gumbel = 0, xtc = 1 };

using PhiloxCounter = std::array<uint32_t, 4>;
// Of many tokens at a time: row_kernels.h.
PhiloxCounter philox4x32(PhiloxCounter counter, uint64_t key);

// Uniform in (0, 1), spacing 2^-63 near 0: the smallest of 2^22 draws still has all bits of a float.
float uniform(uint64_t seed, uint32_t position, RandomStream stream, uint32_t token);

// -log(-log(1 - v)) of a uniform v: standard Gumbel noise, falling in v and bounded by 43.7.
float gumbel_from_uniform(float v);

}  // namespace llmrt
