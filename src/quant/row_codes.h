// One superblock of one row as the integers and scales that class a8 multiplies (docs/NUMERICS.md), for the types whose panels keep the
// file's blocks ("others" of quant/panel.h): row types. Exact: the products below are the floats of the type's decode.
//
//   32-block types    w(k) = d[k/32] * code[k]                                                     IQ4_NL MXFP4 Q1_0 Q2_0
//   256-block types   w(k) = d[0] * sub_scale[k/16] * code[k]                                      all others
//                     w(k) = d[0] * sub_scale[k/16] * code[k] - m[0] * sub_min[k/16]               Q2_K
//
// Codebook types have their fractions taken into d, which a power of two leaves exact:
//
//   IQ1_S IQ1_M             d / 8    2 s + 1    8 (x - 1) +- 1
//   IQ2_XXS IQ2_XS IQ2_S    d / 8    2 s + 1    +- size
//   IQ3_XXS                 d / 4    2 s + 1    +- size
//   IQ3_S                   d        2 s + 1    +- (2 x + 1)
//   TQ1_0 TQ2_0             d        1          c - 1
//
// |code| <= 127: -128 never occurs, so that a kernel may take magnitudes in int8. |sub_scale| <= 32, 0 <= sub_min <= 15.
#pragma once

#include <cstdint>

#include "quant/dtype.h"

namespace llmrt {

// What a type lacks (sub-scales, minimums, d and m beyond the first) is neither written nor read.
struct alignas(64) RowCodes {
  int8_t code[256];
  int16_t sub_scale[16], sub_min[16];  // of each 16 k
  float d[8], m[8];                    // 256-block types: [0];  32-block types: of each 32 k
};

struct RowType {
  DType type;
  uint32_t group;    // of activations: 32 or 256
  bool has_min;      // 256-block types only
  int largest_code;  // |code| at most
};
// All there are. Tables of kernels follow from it; the registry and the decoders are held against it.
inline constexpr RowType kRowTypes[] = {
    {DType::q2_k, 256, true, 3},      {DType::q3_k, 256, false, 4},
    {DType::iq4_nl, 32, false, 127},  {DType::iq4_xs, 256, false, 127},
    {DType::mxfp4, 32, false, 12},    {DType::iq1_s, 256, false, 9},
    {DType::iq1_m, 256, false, 9},    {DType::iq2_xxs, 256, false, 43},
    {DType::iq2_xs, 256, false, 43},  {DType::iq2_s, 256, false, 43},
    {DType::iq3_xxs, 256, false, 62}, {DType::iq3_s, 256, false, 15},
    {DType::tq1_0, 256, false, 1},    {DType::tq2_0, 256, false, 2},
    {DType::q1_0, 32, false, 1},      {DType::q2_0, 32, false, 2},
};

// Of a type that is none: group 0. By value: g++ with sanitizers takes no address of these for a constant.
constexpr RowType row_type_of(DType type) {
  for (const RowType& row : kRowTypes)
    if (row.type == type) return row;
  return {type, 0, false, 0};
}
constexpr bool is_row_type(DType type) { return row_type_of(type).group != 0; }
// In constants, for kernels: their objects may hold no function that others could take.
template <DType kType>
inline constexpr RowType kRowType = row_type_of(kType);

// blocks: of one row, of any alignment. n_blocks: blocks of 32 k in the superblock, 8 but for a tail. Of a type that is no row type
// nothing is written.
void decode_row_codes(DType type, const uint8_t* blocks, uint32_t n_blocks, RowCodes& out);

}  // namespace llmrt
