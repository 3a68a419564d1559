// Class a8's integers out of a packed superblock. Legible and exact; kernels have their own fast forms. Row types: row_codes.h.
#include <cstring>

#include "base/half.h"
#include "quant/panel.h"
#include "quant/panel_lines.h"
#include "quant/types/k_scales.h"

namespace llmrt {
namespace {

using namespace panel_lines;

void set_code(PanelCodes& out, uint32_t k, uint32_t r, int code) {
  out.code[k / 4][r][k % 4] = static_cast<int8_t>(code);
}

// 4 codes of row r from k on: the low 4 bits of each in `low`, more bits in `high`, less `bias`.
void set_four(PanelCodes& out, uint32_t k, uint32_t r, uint32_t low, uint32_t high, int bias) {
  for (uint32_t i = 0; i < 4; ++i)
    set_code(out, k + i, r,
             static_cast<int>(((low >> (8 * i)) & 15u) | ((high >> (8 * i)) & 0x30u)) - bias);
}

// 4-bit part, with the 1-bit part if `high` is given.
void nibble_codes(const uint8_t* low, const uint8_t* high, uint32_t n_blocks, int bias,
                  PanelCodes& out) {
  for (uint32_t j = 0; j < n_blocks; ++j)
    for (uint32_t r = 0; r < 16; ++r) {
      const uint32_t plane = high ? get32(high + j * 64 + r * 4) : 0;
      for (uint32_t z = 0; z < 4; ++z) {
        const uint32_t line = get32(low + (j * 4 + z) * 64 + r * 4);
        set_four(out, 32 * j + 8 * z, r, line, ((plane >> (2 * z)) & 0x01010101u) << 4, bias);
        set_four(out, 32 * j + 8 * z + 4, r, line >> 4, ((plane >> (2 * z + 1)) & 0x01010101u) << 4,
                 bias);
      }
    }
}

void float_scales(const uint8_t* halves, uint32_t n, float (*out)[16]) {
  for (uint32_t j = 0; j < n; ++j)
    for (uint32_t r = 0; r < 16; ++r) out[j][r] = f16_to_f32(get16(halves + j * 32 + r * 2));
}

void k4_scales(const uint8_t* packed, PanelCodes& out) {
  for (uint32_t r = 0; r < 16; ++r) {
    uint8_t bytes[12];
    for (uint32_t i = 0; i < 12; ++i) bytes[i] = packed[i * 16 + r];
    const KScales s = unpack_k_scales(bytes);
    for (uint32_t j = 0; j < 16; ++j) {
      out.sub_scale[j][r] = s.scale[j / 2];
      out.sub_min[j][r] = s.min[j / 2];
    }
  }
  float_scales(packed + kPackedScales, 1, out.d);
  float_scales(packed + kPackedScales + kPanelHalves, 1, out.m);
  out.has_min = true;
}

void q6_k(const uint8_t* sb, PanelCodes& out) {
  using At = PanelK<6>;
  for (uint32_t h = 0; h < 16; ++h)
    for (uint32_t r = 0; r < 16; ++r) {
      const uint32_t plane = get32(sb + At::kHighAt + h * 64 + r * 4);
      for (uint32_t z = 0; z < 2; ++z) {
        const uint32_t line = get32(sb + (h * 2 + z) * 64 + r * 4);
        set_four(out, 16 * h + 8 * z, r, line, ((plane >> (4 * z)) & 0x03030303u) << 4, 32);
        set_four(out, 16 * h + 8 * z + 4, r, line >> 4, ((plane >> (4 * z + 2)) & 0x03030303u) << 4,
                 32);
      }
      out.sub_scale[h][r] = static_cast<int8_t>(sb[At::kScalesAt + h * 16 + r]);
    }
  float_scales(sb + At::kDAt, 1, out.d);
}

// Q4_0 .. Q5_1.
template <uint32_t kBits, bool kMin>
void nibble_blocks(const uint8_t* sb, uint32_t n_blocks, int bias, PanelCodes& out) {
  using At = Panel32<kBits, kMin>;
  const size_t n = n_blocks;
  nibble_codes(sb, kBits == 5 ? sb + n * At::kHighAt : nullptr, n_blocks, bias, out);
  float_scales(sb + n * At::kDAt, n_blocks, out.d);
  if constexpr (kMin) float_scales(sb + n * At::kMAt, n_blocks, out.m);
  out.has_min = kMin;
}

void q8_0(const uint8_t* sb, uint32_t n_blocks, PanelCodes& out) {
  const size_t code_bytes = size_t{n_blocks} * Panel32<8, false>::kDAt;
  std::memcpy(out.code, sb, code_bytes);
  float_scales(sb + code_bytes, n_blocks, out.d);
}

}  // namespace

void decode_panel_codes(DType type, const uint8_t* sb, uint32_t n_blocks, PanelCodes& out) {
  out.has_min = false;
  switch (type) {
    case DType::q4_0:
      nibble_blocks<4, false>(sb, n_blocks, 8, out);
      return;
    case DType::q4_1:
      nibble_blocks<4, true>(sb, n_blocks, 0, out);
      return;
    case DType::q5_0:
      nibble_blocks<5, false>(sb, n_blocks, 16, out);
      return;
    case DType::q5_1:
      nibble_blocks<5, true>(sb, n_blocks, 0, out);
      return;
    case DType::q8_0:
      q8_0(sb, n_blocks, out);
      return;
    case DType::q4_k:
      nibble_codes(sb, nullptr, 8, 0, out);
      k4_scales(sb + PanelK<4>::kScalesAt, out);
      return;
    case DType::q5_k:
      nibble_codes(sb, sb + PanelK<5>::kHighAt, 8, 0, out);
      k4_scales(sb + PanelK<5>::kScalesAt, out);
      return;
    case DType::q6_k:
      q6_k(sb, out);
      return;
    default:
      return;  // row types: row_codes.h; others: class f32
  }
}

}  // namespace llmrt
