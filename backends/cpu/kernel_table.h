// KernelTable: all compute of the CPU backend as plain functions, one table per instruction set. Chosen once per backend by CPUID
// (cpu_features.h) or LLMRT_CPU_ISA. Every table gives the same bits (docs/NUMERICS.md), but for float32 linears of a table without FMA.
//
// The kernels take raw pointers and a parameter struct, allocate nothing and call nothing outside their translation unit except quant's
// superblock_bytes() and its exact decoders: those of row types that a table does not expand itself, those of packed types in the scalar
// table, any type's in linear_decoded. Whoever calls has a FloatScope of FloatMode::compute (base/float_control.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/ops.h"
#include "quant/activation.h"
#include "quant/dtype.h"
#include "quant/row_codec.h"

namespace llmrt::cpu {

// Panels of 16 outputs times n_rows inputs:  out[i][r] = sum_k W[r, k] * in[i, k], in 8 stripes (docs/NUMERICS.md).
struct LinearArgs {
  const uint8_t* panel;     // P16, of the type the function is for
  size_t panel_stride = 0;  // bytes between panels
  uint32_t n_panels = 1;    // kMostPanels at most, where the table takes so many at once, else 1
  uint32_t k;               // the row length of the model
  const uint8_t* in;        // rows of `form`, or where input_group() is 0 of float [k]
  size_t in_stride;         // bytes between rows
  const ActivationForm* form;
  const QuantFormat* format;  // of the weight; only linear_decoded reads it
  uint32_t n_rows;            // 1 .. kMaxLinearRows
  float* out;                 // [n_panels][n_rows][16], 64-byte aligned
  uint8_t* scratch;           // linear_scratch_bytes(k), 64-byte aligned, one per thread
};
using LinearFn = void (*)(const LinearArgs&);
inline constexpr uint32_t kMaxLinearRows = 512, kMostPanels = 2;

// Room for the widest stripe of a panel in any expanded form, or a superblock of kMostPanels; behind it their sums, of a stripe and of
// all stripes.
inline constexpr size_t kMostExpandedBytes = 20480;  // of a superblock
inline size_t linear_scratch_bytes(uint32_t k) {
  constexpr size_t kSums = size_t{2} * kMostPanels * kMaxLinearRows * 16 * sizeof(float);
  const size_t stripe = n_superblocks(k) / kStripes + 1;
  return std::max(stripe, size_t{kMostPanels}) * kMostExpandedBytes + kSums;
}

// Attention of some query rows over one chunk of 256 keys of one KV head (docs/NUMERICS.md, classes attention f32 and b16).
// Row i is query token i / group, head i % group of the KV head's group. Its part becomes
//   | o [d_v_padded] | m | l |   o = sum p V, l = sum p, p = exp(s - m), over its visible keys in the chunk.
struct AttendArgs {
  const float* q;         // row of token 0, head 0
  size_t q_token_stride;  // floats between tokens; heads are d_k apart
  uint32_t n_tokens, group;
  uint32_t d_k, d_v;
  RowCodec k_codec, v_codec;
  uint32_t block_tokens;
  // This head's bytes of the blocks that cover the chunk, 256 / block_tokens of them (kv_head_layout.h).
  const uint8_t* const* blocks;
  size_t v_at;           // from a head's K to its V
  uint32_t chunk_begin;  // absolute position of the chunk's first key, a multiple of 256
  uint32_t pos;          // position of token 0; the others follow
  uint32_t window;       // 0: all
  float scale, softcap;
  float* parts;        // row i at parts + i * part_stride
  size_t part_stride;  // floats
  uint8_t* scratch;    // attend_scratch_bytes(), 64-byte aligned
};
inline constexpr uint32_t kAttendTile = 64;
inline constexpr uint32_t kAttendChunk = 256;
inline constexpr uint32_t kMaxAttendRows = 64;

inline uint32_t pad16(uint32_t n) { return (n + 15) / 16 * 16; }
inline size_t part_floats(uint32_t d_v) { return pad16(d_v) + 16; }
// q, scores and, for tiles, p and o
inline size_t attend_scratch_bytes(uint32_t d_k, uint32_t d_v) {
  return sizeof(float) * kMaxAttendRows * (pad16(d_k) + kAttendTile + kAttendTile / 2 + pad16(d_v));
}

// Rough speed of one thread, to cut work into chunks of bounded time. Row types (quant/row_codes.h) are expanded once for all rows of a
// chunk. So are packed types that have 16 rows or more: the more rows the better, as long as they stay in the second cache.
struct TableSpeed {
  float a8_macs_per_ns;   // multiply-adds of packed types
  float f32_macs_per_ns;  // of class f32
  float attend_macs_per_ns;
  float rows_macs_per_ns;      // of row types
  float rows_expand_ns;        // of each weight of a row type
  uint32_t most_rows = 128;    // of a chunk of a linear, at most kMaxLinearRows
  float bf16_macs_per_ns = 0;  // of BF16 weights where they are of class b16x2
};

struct KernelTable {
  const char* name;       // "avx2": in model info and usage
  const char* f32_class;  // numerics class of float32 linears: "f32" or "f32-mul-add"
  bool splits_bf16;       // BF16 weights are of class b16x2, not of that
  TableSpeed speed;

  // By DType's number; nullptr: no kernel for this type alone.
  LinearFn linear[kDTypeNumbers];
  bool takes_panels[kDTypeNumbers];  // kMostPanels at once
  // Class f32, any type without a packed form of its own.
  LinearFn linear_decoded;

  // What multiplies weights of this type in its class; nullptr: nothing does.
  LinearFn linear_of(const QuantFormat& f) const {
    const LinearFn own = linear[static_cast<uint32_t>(f.type)];
    return own || f.numerics == NumericsClass::a8 ? own : linear_decoded;
  }

  // How its kernel takes the input: ActivationForm's group; 0: as floats.
  uint32_t input_group(const QuantFormat& f) const {
    if (f.numerics == NumericsClass::a8) return f.group;
    return f.type == DType::bf16 && splits_bf16 ? kSplitGroup : 0;
  }

  void (*quantize)(const float* x, const ActivationForm& form, uint8_t* row);
  // out[i] = x[i] / sqrt(mean of x^2 + eps) * weight[i]
  void (*norm)(const float* x, const float* weight, float* out, uint32_t n, float eps);
  // cosine[j], sine[j] of pos * inv_freq[j], times mscale
  void (*rope_angles)(int32_t pos, const double* inv_freq, uint32_t n, float mscale, float* cosine,
                      float* sine);
  void (*rope)(const float* x, float* out, uint32_t n_head, uint32_t d_head, uint32_t n_pairs,
               RopePairs pairs, const float* cosine, const float* sine);
  void (*glu)(const float* gate, const float* up, float* out, uint32_t n, Activation act);
  void (*add)(const float* a, const float* b, float* out, uint32_t n);
  // A linear's sums [n_panels][n_rows][16] to rows of `to`, which are to_stride floats apart, plus those of `more` if there are any.
  void (*put_panels)(const float* sums, uint32_t n_panels, uint32_t n_rows, float* to,
                     size_t to_stride, const float* more, size_t more_stride);
  void (*scale)(const float* x, float factor, float* out, uint32_t n);
  void (*softcap)(const float* x, float cap, float* out, uint32_t n);

  // out = | index of the n_used highest scores, as floats | their weights |: OpKind::route of graph/ops.h.
  void (*route)(const float* scores, float* out, uint32_t n_expert, uint32_t n_used,
                bool renormalise);
  // out[i] = sum_r weight[r] * in[r * n + i], r ascending
  void (*weighted_sum)(const float* in, const float* weight, uint32_t n_terms, float* out,
                       uint32_t n);

  void (*attend)(const AttendArgs&);
  // into <- into joined with part; both as in AttendArgs.
  void (*merge_parts)(float* into, const float* part, uint32_t d_v);
  void (*finish_part)(const float* part, float* out, uint32_t d_v);  // out[j] = o[j] / l
};

// Tables compiled in and runnable on this processor, best first; the scalar one is always last. The first call may ask the system for
// tile registers.
std::span<const KernelTable* const> available_kernel_tables();
// The best one, or the one LLMRT_CPU_ISA names if it is available.
const KernelTable& default_kernel_table();
const char* wanted_kernel_table();                       // LLMRT_CPU_ISA; nullptr: not set
const KernelTable* find_kernel_table(const char* name);  // nullptr: not available

}  // namespace llmrt::cpu
