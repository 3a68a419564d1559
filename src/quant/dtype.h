// Element types of tensors: ids, names, block geometry, numerics class. One row per type in quant/registry.cpp;
// the scalar codec of each type is quant/types/<t>.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace llmrt {

// Values are GGUF's tensor type numbers, so a file's number casts after find_format() has accepted it.
enum class DType : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
  q2_0 = 42,
};

inline constexpr uint32_t kDTypeNumbers = 64;  // all of GGUF's are below

// How products are summed: a function of the weight type, never of row count or step kind (docs/NUMERICS.md).
enum class NumericsClass : uint8_t {
  f32,  // float32 activations, one fma per k inside each of the 8 stripes
  a8,   // int8 activations with one scale per group (32 or 256)
};

// K is cut at superblock edges floor(n*i/8), n = ceil(K/256), into this many stripes, each summed ascending from 0, then added.
inline constexpr uint32_t kStripes = 8;
inline constexpr uint32_t kSuperblock = 256;

// Always inline: kernels call them in objects of one instruction set, which may not hold a function that baseline code could take.
[[gnu::always_inline]] constexpr uint32_t n_superblocks(uint32_t k) {
  return (k + kSuperblock - 1) / kSuperblock;
}
// The superblock that stripe i of n superblocks begins with; i = kStripes: n.
[[gnu::always_inline]] constexpr uint32_t stripe_edge(uint32_t n, uint32_t i) {
  return n * i / kStripes;
}

struct QuantFormat {
  DType type;
  const char* name;      // "Q4_K"
  uint32_t block;        // elements per block: 1, or 32 to 256; a row's length is a multiple of it
  uint32_t block_bytes;  // bytes per block on disk
  NumericsClass numerics;
  uint32_t group;  // a8: activations per scale (32 or 256); f32 class: 0
  void (*decode)(const uint8_t* blocks, float* out, size_t n);     // n: multiple of block
  void (*encode)(const float* values, uint8_t* blocks, size_t n);  // nullptr: not yet
};

// nullptr: unknown; gguf_type_name() may name it
const QuantFormat* find_format(uint32_t ggml_type);
const QuantFormat& format_of(DType type);  // a known type
std::span<const QuantFormat> all_formats();
// Name of any type number that GGUF defines, decodable or not ("I32"), else "".
const char* gguf_type_name(uint32_t ggml_type);

inline uint64_t row_bytes(const QuantFormat& f, uint64_t n) { return n / f.block * f.block_bytes; }

}  // namespace llmrt
