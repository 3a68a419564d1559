#include "backends/cpu/packed_weight.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/platform/process.h"

namespace llmrt::cpu {

bool keeps_floats(const WeightDesc& d) {
  return d.n == 1 && d.n_expert == 1 && format_of(d.type).numerics == NumericsClass::f32;
}

void PackedWeight::packed_panel(uint32_t p, uint32_t expert, uint8_t* scratch) const {
  const uint32_t first = p * kPanelRows;
  pack_panel(type, data + (size_t{expert} * n + first) * row_stride, row_stride,
             std::min(kPanelRows, n - first), k, scratch);
}

void PackedWeight::expect_panels(uint32_t begin, uint32_t end, uint32_t expert) const {
  const uint32_t last = std::min(n, (end + (end - begin)) * kPanelRows);
  const uint8_t* matrix = data + size_t{expert} * n * row_stride;
  const size_t first = size_t{begin} * kPanelRows;
  platform::expect_reads(matrix + first * row_stride, (last - first) * row_stride);
}

uint64_t packed_bytes(const WeightDesc& d) {
  if (keeps_floats(d)) return uint64_t{d.k} * sizeof(float);
  return uint64_t{d.n_expert} * n_panels(d.n) * panel_bytes(d.type, d.k);
}

const char* packed_form(const WeightDesc& d) { return keeps_floats(d) ? "F32" : "P16"; }

Result<PackedWeight> borrow_weight(const WeightDesc& d, WeightForm form,
                                   std::span<const uint8_t> bytes) {
  const bool raw = form == WeightForm::file_rows;
  const size_t row = row_bytes(format_of(d.type), d.k);
  const uint64_t wanted = raw ? uint64_t{d.n_expert} * d.n * row : packed_bytes(d);
  if (bytes.size() != wanted || (raw && keeps_floats(d)))
    return error(Code::internal, "%s: %zu bytes are to be adopted as %s; wanted are %llu",
                 d.name.c_str(), bytes.size(), raw ? "rows of the file" : packed_form(d),
                 static_cast<unsigned long long>(wanted));
  LLMRT_ASSERT(raw || reinterpret_cast<uintptr_t>(bytes.data()) % 64 == 0);
  PackedWeight w{.type = d.type, .n = d.n, .k = d.k, .is_vector = keeps_floats(d), .is_raw = raw};
  w.data = bytes.data();
  if (!w.is_vector) w.panel_stride = panel_bytes(d.type, d.k);
  if (raw) w.row_stride = row;
  return w;
}

void decode_weight_row(const PackedWeight& w, uint32_t row, float* out, uint8_t* scratch) {
  if (w.is_vector) {
    std::memcpy(out, w.floats(), size_t{w.k} * sizeof(float));
    return;
  }
  if (w.is_raw) {
    format_of(w.type).decode(w.data + size_t{row} * w.row_stride, out, w.k);
    return;
  }
  unpack_row(w.type, w.panel(row / kPanelRows), row % kPanelRows, w.k, scratch);
  format_of(w.type).decode(scratch, out, w.k);
}

Result<Buffer> vector_floats(const PackedWeight& w) {
  Buffer out = Buffer::make(size_t{w.n} * w.k * sizeof(float));
  Buffer scratch = Buffer::make(row_scratch_bytes(w.k));
  if (!out || !scratch) return Status(Code::out_of_memory);
  for (uint32_t r = 0; r < w.n; ++r)
    decode_weight_row(w, r, out.as<float>() + size_t{r} * w.k, scratch.data());
  return out;
}

Result<PackedWeight> one_row_matrix(const PackedWeight& v) {
  PackedWeight w{.type = DType::f32, .n = 1, .k = v.k};
  w.panel_stride = panel_bytes(DType::f32, v.k);
  w.owned = Buffer::make(w.panel_stride);
  if (!w.owned) return Status(Code::out_of_memory);
  w.data = w.owned.data();
  pack_panel(DType::f32, v.data, size_t{v.k} * sizeof(float), 1, v.k, w.owned.data());
  return w;
}

}  // namespace llmrt::cpu
