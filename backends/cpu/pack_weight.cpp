// How a tensor of the file becomes panels: in chunks on all workers, each chunk read piece by piece.
//
//   run     chunks between which the pool serves others, and behind which the source's pages go
//   chunk   what one worker does at a time: as much as a 2 MiB page of the panels, because two workers that touch such a page first at
//           the same moment both clear one, and as little as gives every worker several
//   piece   one read: small enough that a core's own cache still has it when it is packed
#include <algorithm>
#include <atomic>
#include <mutex>

#include "backends/cpu/packed_weight.h"
#include "base/check.h"
#include "base/host.h"

namespace llmrt::cpu {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{256} << 10;
constexpr uint64_t kChunkBytes = uint64_t{2} << 20;
constexpr uint64_t kChunksPerWorker = 4;      // of a tensor, at least
constexpr uint32_t kRunChunksPerWorker = 16;  // 10 to 20 ms

Status no_memory(const WeightDesc& d, uint64_t bytes) {
  return error(Code::out_of_memory, "%s: no memory for %llu bytes", d.name.c_str(),
               static_cast<unsigned long long>(bytes));
}

Result<PackedWeight> read_vector(const WeightDesc& d, const WeightReader& reader) {
  const QuantFormat& f = format_of(d.type);
  PackedWeight w{.type = d.type, .n = d.n, .k = d.k, .is_vector = true};
  w.owned = Buffer::make(packed_bytes(d));
  Buffer raw = Buffer::make(row_bytes(f, d.k));
  if (!w.owned || !raw) return no_memory(d, packed_bytes(d));
  w.data = w.owned.data();
  LLMRT_TRY(reader.read(0, raw.data(), raw.size()));
  f.decode(raw.data(), w.owned.as<float>(), d.k);
  return w;
}

// A tensor's panels as chunks: each lies within one matrix.
struct ChunkCut {
  ChunkCut(const WeightDesc& d, uint64_t panel_rows_bytes, uint32_t n_workers)
      : n_panels_(n_panels(d.n)), n_rows_(d.n), n_expert_(d.n_expert) {
    const uint64_t all = uint64_t{n_panels_} * n_expert_ * panel_rows_bytes;
    const uint64_t bytes = std::min(kChunkBytes, all / (kChunksPerWorker * n_workers));
    per_chunk_ =
        static_cast<uint32_t>(std::clamp<uint64_t>(bytes / panel_rows_bytes, 1, n_panels_));
    per_piece_ =
        static_cast<uint32_t>(std::clamp<uint64_t>(kPieceBytes / panel_rows_bytes, 1, per_chunk_));
    per_matrix_ = (n_panels_ + per_chunk_ - 1) / per_chunk_;
  }
  uint32_t n_chunks() const { return per_matrix_ * n_expert_; }
  uint32_t per_piece() const { return per_piece_; }

  struct Chunk {
    uint64_t row;    // of the tensor
    uint64_t panel;  // of the tensor
    uint32_t n_rows;
  };
  Chunk chunk(uint32_t c) const {
    const uint32_t expert = c / per_matrix_, first = c % per_matrix_ * per_chunk_;
    return {uint64_t{expert} * n_rows_ + first * kPanelRows, uint64_t{expert} * n_panels_ + first,
            std::min(n_rows_ - first * kPanelRows, per_chunk_ * kPanelRows)};
  }

 private:
  uint32_t n_panels_, n_rows_, n_expert_;
  uint32_t per_chunk_, per_piece_, per_matrix_;  // panels, panels, chunks
};

// The first failure of any worker; the others see that there was one.
class FirstFailure {
 public:
  bool there() const { return there_.load(std::memory_order_relaxed); }
  void set(Status status) {
    const std::lock_guard lock(mutex_);
    if (!there_.exchange(true)) status_ = std::move(status);
  }
  Status take() { return std::move(status_); }

 private:
  std::atomic<bool> there_{false};
  std::mutex mutex_;
  Status status_;
};

}  // namespace

Result<PackedWeight> pack_weight(const WeightDesc& d, const WeightReader& reader, ThreadPool& pool,
                                 WorkerScratch& scratch, const JobProgress* progress) {
  const QuantFormat& f = format_of(d.type);
  LLMRT_ASSERT(d.n > 0 && d.k > 0 && d.k % f.block == 0);  // check_shapes() has passed
  if (keeps_floats(d)) return read_vector(d, reader);

  const uint64_t row = row_bytes(f, d.k);
  const uint32_t n_workers = pool.n_workers();
  const ChunkCut cut(d, row * kPanelRows, n_workers);
  PackedWeight w{.type = d.type, .n = d.n, .k = d.k};
  w.panel_stride = panel_bytes(d.type, d.k);
  w.owned = Buffer::make(packed_bytes(d));
  const uint64_t piece_bytes = uint64_t{cut.per_piece()} * kPanelRows * row;
  if (!w.owned || !scratch.reserve(n_workers, whole_lines(std::max(piece_bytes, kPieceBytes))))
    return no_memory(d, packed_bytes(d));
  w.data = w.owned.data();

  FirstFailure failure;
  const auto pack_chunk = [&](const ChunkCut::Chunk& chunk, uint8_t* rows) {
    uint8_t* panel = w.owned.data() + chunk.panel * w.panel_stride;
    const uint32_t per_piece = cut.per_piece() * kPanelRows;
    for (uint32_t first = 0; first < chunk.n_rows; first += per_piece) {
      if (failure.there() || is_cancelled(progress)) return;
      const uint32_t n = std::min(per_piece, chunk.n_rows - first);
      try {  // making the message of a failure may fail
        Status read = reader.read((chunk.row + first) * row, rows, n * row);
        if (!read.ok()) return failure.set(std::move(read));
      } catch (...) {
        return failure.set(Status(Code::out_of_memory));
      }
      for (uint32_t r = 0; r < n; r += kPanelRows, panel += w.panel_stride)
        pack_panel(d.type, rows + r * row, row, std::min(kPanelRows, n - r), d.k, panel);
    }
  };
  const uint32_t per_run = kRunChunksPerWorker * n_workers;
  for (uint32_t begin = 0; begin < cut.n_chunks(); begin += per_run) {
    const uint32_t end = std::min(cut.n_chunks(), begin + per_run);
    pool.run(begin, end, [&](uint32_t c, uint32_t worker) {
      scratch.with(worker, [&](uint8_t* rows) { pack_chunk(cut.chunk(c), rows); });
    });
    if (failure.there()) return failure.take();
    LLMRT_TRY(check_cancel(progress, d.name.c_str()));
    // Once a run: for each chunk the system would look through the pages of all CPUs.
    const ChunkCut::Chunk last = cut.chunk(end - 1);
    const uint64_t from = cut.chunk(begin).row * row;
    reader.drop_behind(from, (last.row + last.n_rows) * row - from);
  }
  return w;
}

}  // namespace llmrt::cpu
