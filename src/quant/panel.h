// P16: the packed form of a weight matrix. 16 rows lie side by side, so that a kernel multiplies 16 outputs by one activation.
//
//   matrix [N, K] -> ceil(N / 16) panels; panel p holds rows 16p .. 16p + 15 (rows beyond N: zero codes, zero scales)
//   panel         -> ceil(K / 256) superblocks one after another; the last may be a tail of n < 8 blocks of 32
//
// A superblock of the fast types is: codes, then high bits, then scales. Codes come in lines of 64 bytes = [16 rows][4 bytes]:
//
//   Q8_0           line w = k 4w..4w+3            byte i of row r: code(r, 4w + i), int8
//   4-bit part     line z = k 8z..8z+7            byte i of row r: code(r, 8z + i) | code(r, 8z + 4 + i) << 4   (low 4 bits)
//   1-bit part     line j = k 32j..32j+31         byte i, bit b of row r: bit 4 of code(r, 32j + 4b + i)
//   2-bit part     line h = k 16h..16h+15         byte i, bits 2b, 2b+1 of row r: bits 4..5 of code(r, 16h + 4b + i)
//
//   Q4_0 Q4_1      4-bit | d [block][16] f16 | m [block][16] f16 (Q4_1)
//   Q5_0 Q5_1      4-bit | 1-bit | d | m (Q5_1)
//   Q8_0           lines | d
//   Q4_K Q5_K      4-bit | 1-bit (Q5_K) | packed scales [12][16] u8 (k_scales.h, byte b of all rows) | d [16] f16 | dmin [16] f16
//   Q6_K           4-bit | 2-bit | scales [16][16] int8 | d [16] f16
//   F16 BF16       [k/2][16][2]      F32  [k][16]      (K padded with zeros to a multiple of 32)
//   others         [16 rows][the row's blocks as in the file]     those of class a8 are the row types of row_codes.h
//
// Size equation: panel_bytes(type, K) == 16 * row_bytes(type, K padded), so a packed matrix with N % 16 == 0 has the file's size.
// pack_panel and unpack_row are inverses (tests/cpu/panel_test.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/dtype.h"

namespace llmrt {

inline constexpr uint32_t kPanelRows = 16;
// Of the layout of all types together: raised whenever pack_panel() writes other bytes for the same rows, because packed panels are kept
// in files (runtime/packed_cache.h). tests/cpu/panel_test.cpp knows the bytes of this version.
inline constexpr uint32_t kPanelLayout = 1;
// Bytes: one f16 of every row; the packed scales of Q4_K and Q5_K.
inline constexpr uint32_t kPanelHalves = 2 * kPanelRows;
inline constexpr uint32_t kPackedScales = 12 * kPanelRows;

// Where the parts of a superblock begin, in bytes; a part that a type lacks has no bytes. kBits: of a code.
// 32-block types: the places of one block. With n blocks in the superblock each part begins at n times this.
template <uint32_t kBits, bool kMin>
struct Panel32 {
  static constexpr uint32_t kHighAt = kBits == 8 ? 512 : 256;
  static constexpr uint32_t kDAt = kHighAt + (kBits == 5 ? 64 : 0);
  static constexpr uint32_t kMAt = kDAt + kPanelHalves;
  static constexpr uint32_t kBytes = kMin ? kMAt + kPanelHalves : kMAt;
};
// Q4_K, Q5_K, Q6_K.
template <uint32_t kBits>
struct PanelK {
  static constexpr uint32_t kHighAt = 2048;
  static constexpr uint32_t kScalesAt = kHighAt + (kBits - 4) * 512;
  static constexpr uint32_t kDAt = kScalesAt + (kBits == 6 ? 16 * kPanelRows : kPackedScales);
  static constexpr uint32_t kDminAt = kDAt + kPanelHalves;
  static constexpr uint32_t kBytes = kBits == 6 ? kDminAt : kDminAt + kPanelHalves;
};

inline uint32_t n_panels(uint32_t n) { return (n + kPanelRows - 1) / kPanelRows; }
// K as stored: F32, F16 and BF16 rows are padded to a multiple of 32.
inline uint32_t padded_k(DType type, uint32_t k) {
  const bool is_float = type == DType::f32 || type == DType::f16 || type == DType::bf16;
  return is_float ? (k + 31) / 32 * 32 : k;
}

// Bytes of one whole superblock (256 k) of 16 rows: the stride between superblocks.
uint32_t superblock_bytes(DType type);
uint64_t panel_bytes(DType type, uint32_t k);

// rows: n_rows (1..16) rows of the file, row_stride bytes apart. Writes panel_bytes(type, k) bytes.
void pack_panel(DType type, const uint8_t* rows, size_t row_stride, uint32_t n_rows, uint32_t k,
                uint8_t* panel);
// The file's bytes of one row of a panel: row_bytes(format, k).
void unpack_row(DType type, const uint8_t* panel, uint32_t row, uint32_t k, uint8_t* out);

// One superblock of 16 rows as the integers and scales that class a8 multiplies (docs/NUMERICS.md). Exact, for types with a packed
// form of their own; of others only has_min is written: false.
//   32-block types:   w(r, k) = d[k/32][r] * code + m[k/32][r]
//   256-block types:  w(r, k) = d[0][r] * sub_scale[k/16][r] * code - m[0][r] * sub_min[k/16][r]
struct alignas(64) PanelCodes {
  int8_t code[64][16][4];     // [k/4][row][k%4]
  int16_t sub_scale[16][16];  // [k/16][row]
  int16_t sub_min[16][16];
  float d[8][16];
  float m[8][16];
  bool has_min;
};
// n_blocks: blocks of 32 in this superblock, 8 but for a tail. `superblock` points at panel + index * superblock_bytes(type).
void decode_panel_codes(DType type, const uint8_t* superblock, uint32_t n_blocks, PanelCodes& out);

}  // namespace llmrt
