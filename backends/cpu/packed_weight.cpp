#include "backends/cpu/packed_weight.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "backends/cpu/worker_scratch.h"
#include "base/check.h"
#include "quant/panel.h"

namespace llmrt::cpu {
namespace {

constexpr uint64_t kReadBytes = 1u << 20;  // bytes of one read, at least one panel
constexpr uint32_t kChunksPerRun = 64;     // the pool serves others between runs

bool keeps_floats(const WeightDesc& d) {
  return d.n == 1 && format_of(d.type).numerics == NumericsClass::f32;
}

Status no_memory(const WeightDesc& d, uint64_t bytes) {
  return error(Code::out_of_memory, "%s: no memory for %llu bytes", d.name.c_str(),
               static_cast<unsigned long long>(bytes));
}

Result<PackedWeight> read_vector(const WeightDesc& d, const WeightReader& reader) {
  const QuantFormat& f = format_of(d.type);
  PackedWeight w{d.type, d.n, d.k, true, Buffer::make(packed_bytes(d)), 0};
  Buffer raw = Buffer::make(row_bytes(f, d.k));
  if (!w.data || !raw) return no_memory(d, packed_bytes(d));
  LLMRT_TRY(reader.read(0, raw.data(), raw.size()));
  f.decode(raw.data(), w.data.as<float>(), d.k);
  return w;
}

}  // namespace

uint64_t packed_bytes(const WeightDesc& d) {
  if (keeps_floats(d)) return uint64_t{d.k} * sizeof(float);
  return uint64_t{n_panels(d.n)} * panel_bytes(d.type, d.k);
}

const char* packed_form(const WeightDesc& d) { return keeps_floats(d) ? "F32" : "P16"; }

Result<PackedWeight> pack_weight(const WeightDesc& d, const WeightReader& reader, ThreadPool& pool,
                                 const JobProgress* progress) {
  const QuantFormat& f = format_of(d.type);
  LLMRT_ASSERT(d.n > 0 && d.k > 0 && d.k % f.block == 0);  // check_shapes() has passed
  if (keeps_floats(d)) return read_vector(d, reader);

  const uint64_t row = row_bytes(f, d.k);
  const uint32_t panels = n_panels(d.n);
  const uint32_t per_chunk = static_cast<uint32_t>(
      std::min<uint64_t>(panels, std::max<uint64_t>(1, kReadBytes / (row * kPanelRows))));
  const uint32_t n_chunks = (panels + per_chunk - 1) / per_chunk;
  const uint64_t read_bytes = uint64_t{per_chunk} * kPanelRows * row;

  PackedWeight w{d.type, d.n, d.k, false, Buffer::make(packed_bytes(d)), panel_bytes(d.type, d.k)};
  WorkerScratch raw;
  if (!w.data || !raw.reserve(pool.n_workers(), whole_lines(read_bytes)))
    return no_memory(d, packed_bytes(d));

  std::atomic<bool> stop{false};
  std::mutex mutex;
  Status failure;  // the first one
  const auto pack_chunk = [&](uint32_t chunk, uint8_t* rows) {
    if (stop.load(std::memory_order_relaxed)) return;
    if (progress && progress->cancel.load(std::memory_order_relaxed)) {
      stop.store(true);
      return;
    }
    const uint32_t first = chunk * per_chunk;
    const uint32_t n_rows = std::min(d.n - first * kPanelRows, per_chunk * kPanelRows);
    const uint64_t at = uint64_t{first} * kPanelRows * row;
    try {  // making the message of a failure may fail
      Status read = reader.read(at, rows, n_rows * row);
      if (!read.ok()) {
        const std::lock_guard lock(mutex);
        if (!stop.exchange(true)) failure = std::move(read);
        return;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!stop.exchange(true)) failure = Status(Code::out_of_memory);
      return;
    }
    for (uint32_t r = 0; r < n_rows; r += kPanelRows)
      pack_panel(d.type, rows + r * row, row, std::min(kPanelRows, n_rows - r), d.k,
                 w.data.data() + (first + r / kPanelRows) * w.panel_stride);
    reader.drop_behind(at, n_rows * row);
  };
  for (uint32_t begin = 0; begin < n_chunks && !stop.load(); begin += kChunksPerRun)
    pool.run(begin, std::min(n_chunks, begin + kChunksPerRun),
             [&](uint32_t chunk, uint32_t worker) {
               raw.with(worker, [&](uint8_t* rows) { pack_chunk(chunk, rows); });
             });
  if (!failure.ok()) return failure;
  if (progress && progress->cancel.load()) return error(Code::cancelled, "loading was cancelled");
  return w;
}

void decode_weight_row(const PackedWeight& w, uint32_t row, float* out, uint8_t* scratch) {
  if (w.is_vector) {
    std::memcpy(out, w.floats(), size_t{w.k} * sizeof(float));
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
  const size_t bytes = panel_bytes(DType::f32, v.k);
  PackedWeight w{DType::f32, 1, v.k, false, Buffer::make(bytes), bytes};
  if (!w.data) return Status(Code::out_of_memory);
  pack_panel(DType::f32, v.data.data(), size_t{v.k} * sizeof(float), 1, v.k, w.data.data());
  return w;
}

}  // namespace llmrt::cpu
