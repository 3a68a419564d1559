#include "quant/row_codes.h"

#include <array>

#include "base/half.h"
#include "quant/row_blocks.h"
#include "quant/types/block.h"

namespace llmrt {
namespace {

int8_t signed_code(int size, uint32_t signs, size_t i) {
  return static_cast<int8_t>((signs >> i) & 1u ? -size : size);
}

// Of the 32 k of sub-block j.
void set_scale_of_32(RowCodes& out, size_t j, int scale) {
  out.sub_scale[2 * j] = out.sub_scale[2 * j + 1] = static_cast<int16_t>(scale);
}

// Without a codebook.

void q2_k_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockQ2_K>(blocks, 0);
  for (uint32_t k = 0; k < 256; ++k)
    out.code[k] = static_cast<int8_t>((b.qs[k / 128 * 32 + k % 32] >> (2 * (k % 128 / 32))) & 3);
  for (uint32_t j = 0; j < 16; ++j) {
    out.sub_scale[j] = static_cast<int16_t>(b.scales[j] & 15);
    out.sub_min[j] = static_cast<int16_t>(b.scales[j] >> 4);
  }
  out.d[0] = f16_to_f32(b.d);
  out.m[0] = f16_to_f32(b.dmin);
}

void q3_k_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockQ3_K>(blocks, 0);
  for (uint32_t k = 0; k < 256; ++k) {
    const uint32_t plane = k % 128 / 32;
    const int low = (b.qs[k / 128 * 32 + k % 32] >> (2 * plane)) & 3;
    const int high = (b.hmask[k % 32] >> (k / 128 * 4 + plane)) & 1;
    out.code[k] = static_cast<int8_t>((low | high << 2) - 4);
  }
  for (uint32_t j = 0; j < 16; ++j)
    out.sub_scale[j] = static_cast<int16_t>(q3_k_scale(b.scales, j));
  out.d[0] = f16_to_f32(b.d);
}

void iq4_xs_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockIq4Xs>(blocks, 0);
  for (uint32_t k = 0; k < 256; ++k)
    out.code[k] = kIq4Values[(b.qs[k / 32 * 16 + k % 16] >> (k % 32 / 16 * 4)) & 15];
  for (uint32_t j = 0; j < 8; ++j) set_scale_of_32(out, j, iq4_xs_scale(b, j));
  out.d[0] = f16_to_f32(b.d);
}

float block_scale(const BlockIq4Nl& b) { return f16_to_f32(b.d); }
float block_scale(const BlockMxfp4& b) { return mxfp4_scale(b.e); }

template <class Block, const int8_t (&kValues)[16]>
void table_row(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
  for (uint32_t j = 0; j < n_blocks; ++j) {
    const auto b = load_block<Block>(blocks, j);
    for (uint32_t k = 0; k < 32; ++k)
      out.code[32 * j + k] = kValues[(b.qs[k % 16] >> (k / 16 * 4)) & 15];
    out.d[j] = block_scale(b);
  }
}

// Blocks of 128 and 64 weights: d again for each 32.
void q1_0_row(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
  for (uint32_t j = 0; j < n_blocks; ++j) {
    const auto b = load_block<BlockQ1_0>(blocks, j / 4);
    for (uint32_t k = 32 * j; k < 32 * j + 32; ++k)
      out.code[k] = (b.qs[k % 128 / 8] >> (k % 8)) & 1 ? 1 : -1;
    out.d[j] = f16_to_f32(b.d);
  }
}

void q2_0_row(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
  for (uint32_t j = 0; j < n_blocks; ++j) {
    const auto b = load_block<BlockQ2_0>(blocks, j / 2);
    for (uint32_t k = 32 * j; k < 32 * j + 32; ++k)
      out.code[k] = static_cast<int8_t>(((b.qs[k % 64 / 4] >> (2 * (k % 4))) & 3) - 1);
    out.d[j] = f16_to_f32(b.d);
  }
}

// n_digits of each of n_bytes, all first digits before all second ones. Returns the end of what was written.
int8_t* put_codes_of_digits(const uint8_t* bytes, size_t n_bytes, size_t n_digits, int8_t* code) {
  uint32_t power = 1;
  for (size_t k = 0; k < n_digits; ++k, power *= 3)
    for (size_t l = 0; l < n_bytes; ++l) {
      const uint32_t rest = (bytes[l] * power) & 255u;
      *code++ = static_cast<int8_t>(static_cast<int>((rest * 3) >> 8) - 1);
    }
  return code;
}

void tq1_0_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockTQ1_0>(blocks, 0);
  int8_t* code = put_codes_of_digits(b.qs, 32, 5, out.code);
  code = put_codes_of_digits(b.qs + 32, 16, 5, code);
  put_codes_of_digits(b.qh, 4, 4, code);
  for (uint32_t j = 0; j < 8; ++j) set_scale_of_32(out, j, 1);
  out.d[0] = f16_to_f32(b.d);
}

void tq2_0_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockTQ2_0>(blocks, 0);
  for (uint32_t k = 0; k < 256; ++k) {
    const int code = (b.qs[k / 128 * 32 + k % 32] >> (2 * (k % 128 / 32))) & 3;
    out.code[k] = static_cast<int8_t>(code - 1);
  }
  for (uint32_t j = 0; j < 8; ++j) set_scale_of_32(out, j, 1);
  out.d[0] = f16_to_f32(b.d);
}

// Codebook types.

void put_iq1_codes(uint16_t point, bool down, int8_t* code) {
  for (size_t i = 0; i < 8; ++i)
    code[i] = static_cast<int8_t>(8 * (((point >> (2 * i)) & 3) - 1) + (down ? -1 : 1));
}

void put_iq2_codes(uint16_t point, uint32_t signs, int8_t* code) {
  for (size_t i = 0; i < 8; ++i) code[i] = signed_code(kIq2Sizes[(point >> (2 * i)) & 3], signs, i);
}

void iq1_s_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockIq1S>(blocks, 0);
  for (size_t g = 0; g < 32; ++g) {
    const uint32_t sub = b.qh[g / 4];
    const size_t high = (sub >> (3 * (g % 4))) & 7u;
    put_iq1_codes(kIq1Grid[b.qs[g] | high << 8], sub >> 15 != 0, out.code + 8 * g);
  }
  for (size_t j = 0; j < 8; ++j) set_scale_of_32(out, j, 2 * ((b.qh[j] >> 12) & 7) + 1);
  out.d[0] = f16_to_f32(b.d) * 0.125f;
}

void iq1_m_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockIq1M>(blocks, 0);
  uint32_t d_bits = 0;
  for (size_t k = 0; k < 4; ++k) d_bits |= (uint32_t{b.scales[k]} >> 12) << (4 * k);
  for (size_t g = 0; g < 32; ++g) {
    const size_t nibble = (b.qh[g / 2] >> (4 * (g % 2))) & 15u;
    put_iq1_codes(kIq1Grid[b.qs[g] | (nibble & 7) << 8], (nibble & 8) != 0, out.code + 8 * g);
  }
  for (size_t j = 0; j < 16; ++j)
    out.sub_scale[j] = static_cast<int16_t>(2 * ((b.scales[j / 4] >> (3 * (j % 4))) & 7) + 1);
  out.d[0] = f16_to_f32(static_cast<uint16_t>(d_bits)) * 0.125f;
}

void iq2_xxs_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockIq2Xxs>(blocks, 0);
  for (size_t j = 0; j < 8; ++j) {
    const auto bits = load_block<uint32_t>(b.sub[j], 1);
    for (size_t g = 0; g < 4; ++g)
      put_iq2_codes(kIq2XxsGrid[b.sub[j][g]], even_signs((bits >> (7 * g)) & 127),
                    out.code + 32 * j + 8 * g);
    set_scale_of_32(out, j, 2 * static_cast<int>(bits >> 28) + 1);
  }
  out.d[0] = f16_to_f32(b.d) * 0.125f;
}

// IQ2_XS and IQ2_S: a nibble for each 16 k.
void set_iq2_scales(const uint8_t* scales, RowCodes& out) {
  for (size_t j = 0; j < 16; ++j)
    out.sub_scale[j] = static_cast<int16_t>(2 * ((scales[j / 2] >> (4 * (j % 2))) & 15) + 1);
}

void iq2_xs_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockIq2Xs>(blocks, 0);
  for (size_t g = 0; g < 32; ++g)
    put_iq2_codes(kIq2XsGrid[b.qs[g] & 511], even_signs(b.qs[g] >> 9), out.code + 8 * g);
  set_iq2_scales(b.scales, out);
  out.d[0] = f16_to_f32(b.d) * 0.125f;
}

void iq2_s_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockIq2S>(blocks, 0);
  for (size_t g = 0; g < 32; ++g) {
    const size_t high = (b.qh[g / 4] >> (2 * (g % 4))) & 3u;
    put_iq2_codes(kIq2SGrid[b.qs[g] | high << 8], b.signs[g], out.code + 8 * g);
  }
  set_iq2_scales(b.scales, out);
  out.d[0] = f16_to_f32(b.d) * 0.125f;
}

void iq3_xxs_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockIq3Xxs>(blocks, 0);
  for (size_t g = 0; g < 32; ++g) {
    const auto bits = load_block<uint32_t>(b.sub, g / 4);
    const uint32_t signs = even_signs((bits >> (7 * (g % 4))) & 127);
    for (size_t i = 0; i < 8; ++i) {
      const uint16_t point = kIq3XxsGrid[b.qs[2 * g + i / 4]];
      out.code[8 * g + i] = signed_code(kIq3XxsSizes[(point >> (4 * (i % 4))) & 7], signs, i);
    }
    set_scale_of_32(out, g / 4, 2 * static_cast<int>(bits >> 28) + 1);
  }
  out.d[0] = f16_to_f32(b.d) * 0.25f;
}

void iq3_s_row(const uint8_t* blocks, uint32_t, RowCodes& out) {
  const auto b = load_block<BlockIq3S>(blocks, 0);
  for (size_t k = 0; k < 256; ++k) {
    const size_t p = k / 4, high = (b.qh[p / 8] >> (p % 8)) & 1u;
    const uint16_t point = kIq3SGrid[b.qs[p] | high << 8];
    out.code[k] = signed_code(2 * ((point >> (4 * (k % 4))) & 7) + 1, b.signs[k / 8], k % 8);
  }
  for (size_t j = 0; j < 8; ++j)
    set_scale_of_32(out, j, 2 * ((b.scales[j / 2] >> (4 * (j % 2))) & 15) + 1);
  out.d[0] = f16_to_f32(b.d);
}

using RowDecoder = void (*)(const uint8_t* blocks, uint32_t n_blocks, RowCodes& out);

// By DType's number; nullptr: no row type (tests/quant/row_codes_test.cpp).
constexpr auto kDecoders = [] {
  std::array<RowDecoder, kDTypeNumbers> of{};
  const auto set = [&of](DType type, RowDecoder fn) { of[static_cast<uint32_t>(type)] = fn; };
  set(DType::q2_k, q2_k_row);
  set(DType::q3_k, q3_k_row);
  set(DType::iq4_nl, table_row<BlockIq4Nl, kIq4Values>);
  set(DType::iq4_xs, iq4_xs_row);
  set(DType::mxfp4, table_row<BlockMxfp4, kMxfp4Values>);
  set(DType::iq1_s, iq1_s_row);
  set(DType::iq1_m, iq1_m_row);
  set(DType::iq2_xxs, iq2_xxs_row);
  set(DType::iq2_xs, iq2_xs_row);
  set(DType::iq2_s, iq2_s_row);
  set(DType::iq3_xxs, iq3_xxs_row);
  set(DType::iq3_s, iq3_s_row);
  set(DType::tq1_0, tq1_0_row);
  set(DType::tq2_0, tq2_0_row);
  set(DType::q1_0, q1_0_row);
  set(DType::q2_0, q2_0_row);
  return of;
}();
}  // namespace

void decode_row_codes(DType type, const uint8_t* blocks, uint32_t n_blocks, RowCodes& out) {
  if (const RowDecoder decode = kDecoders[static_cast<uint32_t>(type)])
    decode(blocks, n_blocks, out);
}

}  // namespace llmrt
