#include "graph/reference.h"

#include <algorithm>
#include <cstring>

#include "base/host.h"
#include "graph/reference_state.h"

namespace llmrt {
namespace {

uint64_t panel_floats(const WeightDesc& desc) {
  const uint64_t rows = desc.n == 1 ? 1 : (uint64_t{desc.n} + kPanel - 1) / kPanel * kPanel;
  return rows * desc.k * desc.n_expert;
}

}  // namespace

ReferenceBackend::ReferenceBackend(std::shared_ptr<Host> host) : host_(std::move(host)) {}
ReferenceBackend::~ReferenceBackend() = default;

std::unique_ptr<ReferenceBackend> make_reference_backend(std::shared_ptr<Host> host) {
  return std::make_unique<ReferenceBackend>(std::move(host));
}

DeviceInfo ReferenceBackend::info() const {
  DeviceInfo info;
  info.id = info.name = info.backend = info.driver = "reference";
  info.memory = platform::memory_figures();
  return info;
}

uint64_t ReferenceBackend::weight_bytes(const WeightDesc& desc) const {
  return panel_floats(desc) * sizeof(float);
}

Result<WeightId> ReferenceBackend::add_weight(const WeightDesc& desc, const WeightReader& reader,
                                              JobProgress* progress) {
  const QuantFormat& format = format_of(desc.type);
  auto w = std::make_unique<Weight>();
  w->desc = desc;
  w->values = Buffer::make(weight_bytes(desc));
  if (!w->values)
    return error(Code::out_of_memory, "%s: %llu bytes as float32 could not be allocated",
                 desc.name.c_str(), static_cast<unsigned long long>(weight_bytes(desc)))
        .at(desc.name);
  const uint32_t width = w->panel_width();
  const uint64_t bytes = row_bytes(format, desc.k);
  std::vector<uint8_t> raw(bytes * width);
  std::vector<float> row(desc.k);
  float* panel = w->data();
  const uint64_t n_panels = w->n_panels();
  for (uint64_t i_panel = 0; i_panel < n_panels * desc.n_expert;
       ++i_panel, panel += size_t{width} * desc.k) {
    LLMRT_TRY(check_cancel(progress, desc.name.c_str()));
    const auto first = static_cast<uint32_t>(i_panel % n_panels) * width;
    const uint64_t at = i_panel / n_panels * desc.n + first;  // row of the tensor
    const uint32_t n_here = std::min(width, desc.n - first);
    if (n_here < width) std::fill_n(panel, size_t{width} * desc.k, 0.0f);
    LLMRT_TRY(reader.read(at * bytes, raw.data(), n_here * bytes));
    for (uint32_t i = 0; i < n_here; ++i) {
      format.decode(raw.data() + i * bytes, row.data(), desc.k);
      for (uint32_t k = 0; k < desc.k; ++k) panel[size_t{k} * width + i] = row[k];
    }
  }
  reader.drop_behind(0, uint64_t{desc.n_expert} * desc.n * bytes);
  return WeightId{weights_.add(std::move(w))};
}

void ReferenceBackend::remove_weight(WeightId id) { weights_.remove(id); }

KvGeometry ReferenceBackend::kv_geometry(const KvGroup& g, const KvConfig& config) const {
  const uint64_t row =
      codec_row_bytes(config.codec.k, g.d_k) + codec_row_bytes(config.codec.v, g.d_v);
  return {row * g.n_kv_head * config.block_tokens * g.n_layers};
}

Result<KvId> ReferenceBackend::kv_create(std::span<const KvGroup> groups, const KvConfig& config) {
  auto kv = std::make_unique<KvStore>();
  kv->groups.assign(groups.begin(), groups.end());
  kv->config = config;
  for (const KvGroup& group : groups)
    kv->block_bytes = std::max(kv->block_bytes, kv_geometry(group, config).block_bytes);
  kv->blocks.resize(config.n_blocks);
  const uint32_t id = kv_.add(std::move(kv));
  for (BlockId reserved : {kZeroBlock, kTrashBlock}) {
    if (Status status = kv_commit(id, reserved); !status.ok()) {
      kv_destroy(id);
      return status;
    }
  }
  return KvId{id};
}

void ReferenceBackend::kv_destroy(KvId id) { kv_.remove(id); }

Status ReferenceBackend::kv_commit(KvId id, BlockId block) {
  KvStore& kv = kv_[id];
  if (block >= kv.blocks.size())
    return error(Code::internal, "KV block %u: the store has %zu", block, kv.blocks.size());
  if (kv.blocks[block] || kv.block_bytes == 0) return Status();
  Buffer bytes = Buffer::make(kv.block_bytes);
  if (!bytes)
    return error(Code::out_of_memory, "KV block of %llu bytes could not be allocated",
                 static_cast<unsigned long long>(kv.block_bytes));
  std::memset(bytes.data(), 0, bytes.size());
  kv.blocks[block] = std::move(bytes);
  ++kv.n_committed;
  return Status();
}

void ReferenceBackend::kv_release(KvId id, std::span<const BlockId> free_blocks) {
  KvStore& kv = kv_[id];
  for (BlockId block : free_blocks) {
    if (block < kFirstBlock || block >= kv.blocks.size() || !kv.blocks[block]) continue;
    kv.blocks[block].reset();
    --kv.n_committed;
  }
}

Status ReferenceBackend::kv_copy(KvId id, BlockId from, BlockId to) {
  KvStore& kv = kv_[id];
  LLMRT_TRY(kv_commit(id, to));
  if (from >= kv.blocks.size() || !kv.blocks[from])
    return error(Code::internal, "KV block %u is copied but holds nothing", from);
  std::memcpy(kv.blocks[to].data(), kv.blocks[from].data(), kv.block_bytes);
  return Status();
}

int64_t ReferenceBackend::kv_bytes(KvId id) const {
  return kv_[id].n_committed * static_cast<int64_t>(kv_[id].block_bytes);
}

uint64_t ReferenceBackend::compute_bytes(const Program& program,
                                         const CompileOptions& options) const {
  return make_plan(program).arena_floats(options.max_rows, options.max_out) * sizeof(float);
}

Result<ExeId> ReferenceBackend::compile(const Program& program, std::span<const WeightId> weights,
                                        const CompileOptions& options) {
  LLMRT_TRY(check_shapes(program));
  if (weights.size() != program.weights.size())
    return error(Code::internal, "compile: %zu weights, the program names %zu", weights.size(),
                 program.weights.size());
  for (const KvGroup& g : program.kv_groups) {
    if (std::max(g.d_k, g.d_v) > kMaxHeadWidth)
      return error(Code::unsupported, "compile: heads of %u, at most %u are supported",
                   std::max(g.d_k, g.d_v), kMaxHeadWidth);
  }
  auto exe = std::make_unique<Exe>();
  exe->program = program;
  exe->options = options;
  for (size_t i = 0; i < weights.size(); ++i) {
    const Weight* w = weights_.find(weights[i]);
    if (!w || w->desc.n != program.weights[i].n || w->desc.k != program.weights[i].k ||
        w->desc.n_expert != program.weights[i].n_expert)
      return error(Code::internal, "compile: %s is not loaded", program.weights[i].name.c_str());
    exe->weights.push_back(w);
  }
  if (!program.kv_layers.empty()) {
    exe->kv = kv_.find(options.kv);
    if (!exe->kv || exe->kv->groups != program.kv_groups)
      return error(Code::internal, "compile: the KV store has other groups than the program");
  }
  exe->plan = make_plan(program);
  const uint32_t rows[2] = {options.max_rows, options.max_out};
  for (size_t space = 0; space < 2; ++space) {
    const uint64_t bytes = uint64_t{exe->plan.row_floats[space]} * rows[space] * sizeof(float);
    exe->arena[space] = Buffer::make(bytes);
    if (bytes > 0 && !exe->arena[space])
      return error(Code::out_of_memory, "arena of %llu bytes could not be allocated",
                   static_cast<unsigned long long>(bytes));
  }
  return ExeId{exes_.add(std::move(exe))};
}

void ReferenceBackend::remove_program(ExeId id) { exes_.remove(id); }

// A batch is our own making: what is checked here would otherwise read or write outside a buffer.
Status ReferenceBackend::Pass::check_batch() const {
  const CompileOptions& limits = exe.options;
  if (batch.n_rows() == 0 || batch.n_rows() > limits.max_rows || batch.n_out() > limits.max_out ||
      batch.n_seqs() > limits.max_seqs)
    return error(Code::internal,
                 "batch of %u rows, %u wanted, %u sequences: at most %u, %u, %u were compiled",
                 batch.n_rows(), batch.n_out(), batch.n_seqs(), limits.max_rows, limits.max_out,
                 limits.max_seqs);
  for (int32_t id : batch.ids) {
    if (id < 0 || static_cast<uint32_t>(id) >= exe.program.n_vocab)
      return error(Code::invalid_argument, "token %d is outside the vocabulary of %u", id,
                   exe.program.n_vocab);
  }
  for (uint32_t r : batch.out_rows) {
    if (r >= batch.n_rows()) return error(Code::internal, "batch: wanted row %u", r);
  }
  if (!exe.kv) return Status();
  const auto holds = [&](BlockId b) { return b < exe.kv->blocks.size() && exe.kv->blocks[b]; };
  for (BlockId block : batch.tables) {
    if (!holds(block)) return error(Code::internal, "batch: block %u is not committed", block);
  }
  for (uint32_t slot : batch.write_slot) {
    const BlockId block = slot / exe.kv->config.block_tokens;
    if (block == kZeroBlock || !holds(block))
      return error(Code::internal, "batch: row is written to block %u", block);
  }
  return Status();
}

Result<Progress> ReferenceBackend::advance(Execution& e, Deadline deadline) {
  Exe& exe = exes_[e.exe];
  const Pass pass{exe, *e.batch, host_->pool(), reference_kernels()};
  if (e.phase == 0 && e.chunk == 0) LLMRT_TRY(pass.check_batch());
  const FloatScope float_control(FloatMode::compute);
  while (e.phase < exe.program.ops.size()) {
    const Op& op = exe.program.ops[e.phase];
    const uint32_t n_rows = pass.n_rows(op.out == kNone ? op.in[0] : op.out);
    const uint32_t begin = e.chunk * kRowsPerChunk;
    const uint32_t end = std::min(begin + kRowsPerChunk, n_rows);
    if (begin < end) pass.run(op, begin, end);
    ++e.chunk;
    if (end == n_rows) {
      if (trace_ && op.out != kNone)
        trace_(exe.program, e.phase, {pass.matrix(op.out), size_t{n_rows} * pass.width(op.out)},
               n_rows);
      ++e.phase;
      e.chunk = 0;
    }
    if (e.phase < exe.program.ops.size() && deadline.passed()) return Progress::suspended;
  }
  exe.n_out = e.batch->n_out();
  return Progress::done;
}

void ReferenceBackend::abandon(Execution& execution) { execution.phase = execution.chunk = 0; }

std::span<const float> ReferenceBackend::logits(ExeId id) const {
  const Exe& exe = exes_[id];
  const float* first = reinterpret_cast<const float*>(exe.arena[1].data()) +
                       size_t{exe.n_out} * exe.plan.offset[exe.program.logits];
  return {first, size_t{exe.n_out} * exe.program.n_vocab};
}

}  // namespace llmrt
