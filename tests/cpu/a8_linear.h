// A linear layer of class a8 twice: by a kernel table, and by the class's rule.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/kernel_table.h"
#include "base/memory.h"
#include "quant/panel.h"
#include "quant/row_codes.h"
#include "tests/cpu/random_weights.h"

namespace llmrt::test {

// decode_panel_codes() for every type of the class: of row types row by row.
inline void a8_codes(DType type, const uint8_t* sb, uint32_t n_blocks, PanelCodes& out) {
  const RowType row_type = row_type_of(type);
  if (!is_row_type(type)) return decode_panel_codes(type, sb, n_blocks, out);
  const bool super = row_type.group == kSuperblock;
  const auto n_bytes = static_cast<size_t>(row_bytes(format_of(type), uint64_t{n_blocks} * 32));
  out.has_min = row_type.has_min;
  for (uint32_t r = 0; r < kPanelRows; ++r) {
    RowCodes row;
    decode_row_codes(type, sb + r * n_bytes, n_blocks, row);
    for (uint32_t k = 0; k < n_blocks * 32; ++k) out.code[k / 4][r][k % 4] = row.code[k];
    for (uint32_t j = 0; j < (super ? 1 : n_blocks); ++j) out.d[j][r] = row.d[j];
    if (out.has_min) out.m[0][r] = row.m[0];
    if (!super) continue;
    for (uint32_t h = 0; h < 16; ++h) {
      out.sub_scale[h][r] = row.sub_scale[h];
      if (out.has_min) out.sub_min[h][r] = row.sub_min[h];
    }
  }
}

// Class a8 of docs/NUMERICS.md, written down once more: integers per superblock or block, explicit fma, 8 stripes.
inline float a8_by_the_rule(DType type, const uint8_t* panel, uint32_t r, uint32_t k,
                            const ActivationForm& f, const uint8_t* in, PanelCodes& codes) {
  const auto* q = reinterpret_cast<const int8_t*>(in);
  const auto* dx = reinterpret_cast<const float*>(in + f.dx_at);
  const uint32_t n_super = n_superblocks(k);
  float out = 0;
  for (uint32_t s = 0; s < kStripes; ++s) {
    float acc = 0;
    for (uint32_t b = n_super * s / 8; b < n_super * (s + 1) / 8; ++b) {
      const uint32_t n = std::min(8u, (k - b * 256) / 32);
      a8_codes(type, panel + size_t{b} * superblock_bytes(type), n, codes);
      int64_t i_sum = 0, j_sum = 0;
      for (uint32_t j = 0; j < n; ++j) {
        int64_t dot = 0, sum = 0;
        for (uint32_t e = 0; e < 32; ++e) {
          const uint32_t at = 32 * j + e;
          const int64_t cq = int64_t{codes.code[at / 4][r][at % 4]} * q[b * 256 + at];
          dot += cq;
          sum += q[b * 256 + at];
          i_sum += codes.sub_scale[at / 16][r] * cq * (f.group == 256);
          j_sum += int64_t{codes.sub_min[at / 16][r]} * q[b * 256 + at] *
                   (f.group == 256 && codes.has_min);
        }
        if (f.group == 32) {
          const float d = dx[b * 8 + j];
          if (codes.has_min) acc = std::fma(codes.m[j][r] * d, static_cast<float>(sum), acc);
          acc = std::fma(codes.d[j][r] * d, static_cast<float>(dot), acc);
        }
      }
      if (f.group == 256) {
        const float d = codes.d[0][r],
                    m = codes.has_min ? codes.m[0][r] * static_cast<float>(j_sum) : 0.0f;
        acc = std::fma(std::fma(d, static_cast<float>(i_sum), -m), dx[b], acc);
      }
    }
    out += acc;
  }
  return out;
}

inline bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// Random weights of a type in panels, and rows of activations as the kernels take them.
struct A8Linear {
  DType type;
  uint32_t k, n;
  ActivationForm form;
  Buffer panels, in, out, scratch;
  size_t panel = 0;
  static constexpr size_t kBehind = 64;
  bool stays_inside = true;  // all runs so far
  A8Linear(DType t, uint32_t n_rows_w, uint32_t k_, const std::vector<std::vector<float>>& x)
      : type(t), k(k_), n(n_rows_w) {
    const QuantFormat& f = format_of(type);
    const auto rows = random_weights(type, n, k, k + n);
    panel = panel_bytes(type, k);
    panels = Buffer::make(panel * n_panels(n));
    for (uint32_t p = 0; p < n_panels(n); ++p)
      pack_panel(type, &rows[p * 16 * row_bytes(f, k)], row_bytes(f, k), std::min(16u, n - p * 16),
                 k, panels.data() + p * panel);
    form = activation_form(k, f.group);
    in = Buffer::make(form.row_bytes * x.size());
    for (size_t i = 0; i < x.size(); ++i)
      quantize_activations(x[i].data(), form, in.data() + i * form.row_bytes);
    out = Buffer::make(64 * (cpu::kMaxLinearRows * cpu::kMostPanels + 1));
    scratch = Buffer::make(cpu::linear_scratch_bytes(k) + kBehind);
  }
  // [count][rows][16], of panels from p on: until the next run.
  const float* run(const cpu::KernelTable& table, uint32_t p, uint32_t first, uint32_t rows,
                   uint32_t count = 1) {
    cpu::LinearArgs a{};
    a.panel = panels.data() + p * panel;
    a.panel_stride = panel;
    a.n_panels = count;
    a.k = k;
    a.in = in.data() + first * form.row_bytes;
    a.in_stride = form.row_bytes;
    a.form = &form;
    a.n_rows = rows;
    a.out = out.as<float>();
    a.scratch = scratch.data();
    // What is read is written before, what is wanted is written, and nothing behind it.
    std::memset(scratch.data(), 0xff, scratch.size());
    std::memset(out.data(), 0xff, out.size());
    table.linear_of(format_of(type))(a);
    const size_t n_out = size_t{64} * count * rows, n_scratch = scratch.size() - kBehind;
    for (size_t i = 0; i < kBehind; ++i)
      stays_inside =
          stays_inside && out.data()[n_out + i] == 0xff && scratch.data()[n_scratch + i] == 0xff;
    return out.as<float>();
  }
};

}  // namespace llmrt::test
