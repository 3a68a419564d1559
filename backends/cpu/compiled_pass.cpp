#include "backends/cpu/compiled_pass.h"

#include <algorithm>

#include "backends/cpu/pass_scratch.h"
#include "quant/panel.h"
#include "quant/row_codes.h"

namespace llmrt::cpu {
namespace {

constexpr float kDecodeNs = 1.7f;  // of a weight by its scalar codec

float macs_per_ns(const KernelTable& table, const QuantFormat& format) {
  const TableSpeed& speed = table.speed;
  if (table.input_group(format) == kSplitGroup) return speed.bf16_macs_per_ns;
  if (format.numerics == NumericsClass::f32) return speed.f32_macs_per_ns;
  return is_row_type(format.type) ? speed.rows_macs_per_ns : speed.a8_macs_per_ns;
}

}  // namespace

uint64_t CompiledPass::compute_bytes(const Program& program, const CompileOptions& options,
                                     const KernelTable& table, uint32_t n_workers) {
  const PassPlan plan = make_pass_plan(program, options, table);
  return plan.arena_bytes + plan.parts_bytes + plan.logits_bytes + plan.maxima_bytes +
         WorkerScratch::bytes_for(n_workers, plan.worker_bytes);
}

Result<std::unique_ptr<CompiledPass>> CompiledPass::create(
    const Program& program, const CompileOptions& options,
    std::span<const PackedWeight* const> weights, KvSlabs& kv, const KernelTable& table,
    ThreadPool& pool) {
  std::unique_ptr<CompiledPass> pass(new CompiledPass(program, options, kv, table, pool));
  pass->plan_ = make_pass_plan(pass->program_, options, table);
  LLMRT_TRY(pass->take_memory());
  LLMRT_TRY(pass->bind(weights));
  return pass;
}

Status CompiledPass::take_memory() {
  arena_ = Buffer::make(plan_.arena_bytes);
  parts_ = Buffer::make(plan_.parts_bytes);
  logits_ = Buffer::make(plan_.logits_bytes);
  maxima_ = Buffer::make(plan_.maxima_bytes);
  const unsigned long long bytes =
      plan_.arena_bytes + plan_.parts_bytes + plan_.logits_bytes + plan_.maxima_bytes;
  if ((plan_.arena_bytes && !arena_) || (plan_.parts_bytes && !parts_) ||
      (plan_.logits_bytes && !logits_) || (plan_.maxima_bytes && !maxima_))
    return error(Code::out_of_memory, "no memory for the buffers of a pass of %u rows: %llu bytes",
                 options_.max_rows, bytes);
  arena_.fault_in(plan_.arena_bytes);
  parts_.fault_in(plan_.parts_bytes);
  logits_.fault_in(plan_.logits_bytes / options_.max_out);  // one row: most passes want no more
  maxima_.fault_in(plan_.maxima_bytes / options_.max_out);
  arena_base_ = arena_.data();
  logits_base_ = logits_.data();
  parts_base_ = parts_.as<float>();
  maxima_base_ = maxima_.as<float>();
  seq_of_row_.resize(options_.max_rows);
  return grow_workers();
}

// The pool may have been resized since.
Status CompiledPass::grow_workers() {
  const uint32_t n = pool_.n_workers();
  if (scratch_.reserve(n, plan_.worker_bytes)) return Status();
  return error(Code::out_of_memory, "no memory for the scratch of %u workers: %zu bytes", n,
               WorkerScratch::bytes_for(n, plan_.worker_bytes));
}

Status CompiledPass::bind(std::span<const PackedWeight* const> weights) {
  weights_.assign(weights.begin(), weights.end());
  for (size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i]->is_raw && !options_.raw_weights)
      return error(Code::internal,
                   "compile: %s is kept as rows of the file; raw_weights is not set",
                   program_.weights[i].name.c_str());
  vectors_.resize(weights_.size(), nullptr);
  for (const Op& op : program_.ops) {
    if (op.kind == OpKind::norm) LLMRT_TRY(bind_vector(op.weight));
    if (op.bias != kNone) LLMRT_TRY(bind_vector(op.bias));
    if (op.kind == OpKind::embed) n_tokens_ = std::min(n_tokens_, program_.weights[op.weight].n);
  }
  attend_plan_of_op_.resize(program_.ops.size(), kNone);
  phases_.resize(plan_.phases.size());
  for (size_t i = 0; i < phases_.size(); ++i) {
    const Phase& phase = plan_.phases[i];
    for (const LinearJob& job : phase.jobs) LLMRT_TRY(bind_job(job, phases_[i]));
    if (phase.kind == PhaseKind::linear)
      for (const BoundJob& job : phases_[i].jobs) phases_[i].cuts.push_back({.job = &job});
    if (phase.route_op != kNone) reserve_experts(phase);
    if (phase.kind != PhaseKind::attend) continue;
    const OpParams& o = program_.ops[phase.attend_op].params;
    const AttendShape shape{o.n_head, o.n_kv_head, o.d_k, o.d_v, o.window};
    uint32_t at = 0;
    while (at < attend_plans_.size() && !(attend_plans_[at].shape() == shape)) ++at;
    if (at == attend_plans_.size())
      attend_plans_.emplace_back(shape, options_.max_rows, options_.max_seqs,
                                 table_.speed.attend_macs_per_ns);
    phases_[i].attend_plan = at;
    attend_plan_of_op_[phase.attend_op] = at;
  }
  return Status();
}

Status CompiledPass::bind_vector(WeightIndex index) {
  if (vectors_[index]) return Status();
  const PackedWeight& w = *weights_[index];
  if (w.is_vector) {
    vectors_[index] = w.floats();
    return Status();
  }
  LLMRT_ASSIGN(Buffer floats, vector_floats(w));
  vectors_[index] = floats.as<float>();
  rebuilt_vectors_.push_back(std::move(floats));
  return Status();
}

Status CompiledPass::bind_job(const LinearJob& job, BoundPhase& phase) {
  BoundJob bound;
  bound.job = &job;
  for (uint32_t i = 0; i < job.n_parts; ++i) {
    const Op& op = program_.ops[job.op[i]];
    BoundPart& part = bound.part[i];
    part.weight = weights_[op.weight];
    if (part.weight->is_vector) {
      LLMRT_ASSIGN(PackedWeight matrix, one_row_matrix(*part.weight));
      rebuilt_.push_back(std::make_unique<PackedWeight>(std::move(matrix)));
      part.weight = rebuilt_.back().get();
    }
    const QuantFormat& format = format_of(part.weight->type);
    part.format = &format;
    part.fn = table_.linear_of(format);
    if (!part.fn)
      return error(Code::unsupported, "%s: type %s has no kernel in the CPU backend",
                   program_.weights[op.weight].name.c_str(), format.name);
    if (op.bias != kNone) part.bias = vectors_[op.bias];
    bound.takes_panels &= table_.takes_panels[static_cast<uint32_t>(format.type)];
    part.macs_per_ns = macs_per_ns(table_, format);
    part.expand_ns = part.fn == table_.linear_decoded ? kDecodeNs
                     : is_row_type(format.type)       ? table_.speed.rows_expand_ns
                                                      : 0;
    if (job.dealt[i] != kNone) {
      const DealtValue& d = plan_.dealt[job.dealt[i]];
      part.in = arena_base_ + d.place.offset;
      part.in_stride = d.place.row_bytes;
      part.form = &d.form;
    } else if (job.rounded[i] != kNone) {
      const RoundedValue& r = plan_.rounded[job.rounded[i]];
      part.in = arena_base_ + r.place.offset;
      part.in_stride = r.place.row_bytes;
      part.form = &r.form;
    } else {
      part.in = reinterpret_cast<const uint8_t*>(value_row(op.in[0], 0));
      part.in_stride = plan_.values[op.in[0]].row_bytes;
    }
  }
  phase.jobs.push_back(bound);
  return Status();
}

void CompiledPass::reserve_experts(const Phase& phase) {
  const OpParams& o = program_.ops[phase.route_op].params;
  const size_t rows = phase.rows == RowSpace::tokens ? options_.max_rows : options_.max_out;
  groups_.reserve(o.n_expert, rows * o.n_used);
  expert_cuts_.reserve(phase.jobs.size() * std::min<size_t>(o.n_expert, rows * o.n_used));
}

Status CompiledPass::check(const Batch& b) const {
  if (b.n_rows() == 0 || b.n_rows() > options_.max_rows)
    return error(Code::internal, "a pass of %u rows; this program takes 1 to %u", b.n_rows(),
                 options_.max_rows);
  if (b.n_out() > options_.max_out || b.n_seqs() > options_.max_seqs)
    return error(Code::internal,
                 "a pass of %u wanted rows and %u sequences; this program takes %u and %u",
                 b.n_out(), b.n_seqs(), options_.max_out, options_.max_seqs);
  for (int32_t id : b.ids)
    if (id < 0 || static_cast<uint32_t>(id) >= n_tokens_)
      return error(Code::internal, "token %d is outside the embedding of %u rows", id, n_tokens_);
  return Status();
}

Status CompiledPass::begin(const Batch& batch) {
  LLMRT_TRY(check(batch));
  LLMRT_TRY(grow_workers());
  batch_ = &batch;
  n_out_ = batch.n_out();
  for (uint32_t s = 0; s < batch.n_seqs(); ++s)
    for (uint32_t r = batch.row_begin[s]; r < batch.row_begin[s + 1]; ++r) seq_of_row_[r] = s;
  for (AttendPlan& plan : attend_plans_) plan.prepare(batch);
  grouped_by_ = kNone;
  // One token after the other is cut alike: then the chunks are as they were.
  const CutFor now{batch.n_rows(), n_out_, pool_.n_workers()};
  const bool is_cut = now == cut_for_;
  cut_for_ = now;

  n_stages_ = 0;
  for (size_t i = 0; i < phases_.size(); ++i) {
    const Phase& phase = plan_.phases[i];
    BoundPhase& bound = phases_[i];
    bound.stage_begin = n_stages_;
    bound.n_stages = 1;
    const uint32_t rows = n_rows(phase.rows);
    if (phase.kind == PhaseKind::rows) {
      // A few rows are one chunk: waking a worker costs more than the work.
      const uint32_t shares = 4 * now.n_workers;
      bound.rows_per_chunk = rows < 4 ? 4 : std::clamp((rows + shares - 1) / shares, 1u, 16u);
      bound.n_chunks = (rows + bound.rows_per_chunk - 1) / bound.rows_per_chunk;
    } else if (phase.kind == PhaseKind::linear) {
      if (!is_cut) {
        for (JobCut& cut : bound.cuts) cut.n_rows = rows;
        bound.n_chunks = rows ? cut_jobs(bound.cuts, now.n_workers) : 0;
      }
    } else if (phase.kind == PhaseKind::experts) {
      bound.n_chunks = 0;  // known when the phase begins
    } else {
      bound.n_stages = attend_plans_[bound.attend_plan].n_stages();
      bound.n_chunks = attend_plans_[bound.attend_plan].n_tasks();
    }
    n_stages_ += bound.n_stages;
  }
  return Status();
}

uint32_t CompiledPass::panels_at_once(const BoundJob& job, uint32_t n) {
  constexpr uint32_t kFewRows = 16;  // fewer wait for memory, and are cut finer
  return job.takes_panels && n >= kFewRows ? kMostPanels : 1;
}

// Chunks of about a sixteenth of a worker's share, between 4 us (claiming costs 0.1) and 100 us (a pass stops within 0.5 ms).
uint32_t CompiledPass::cut_jobs(std::span<JobCut> cuts, uint32_t n_workers) const {
  constexpr float kShortest = 4'000, kLongest = 100'000, kBytesPerNs = 8, kPackBytesPerNs = 2;
  constexpr size_t kCachedInput = 1280 << 10;  // of a second cache of 2 MiB
  const auto panel_ns = [](const BoundJob& job, uint32_t n) {
    float ns = 0;
    for (uint32_t i = 0; i < job.job->n_parts; ++i) {
      const PackedWeight& w = *job.part[i].weight;
      ns +=
          std::max(static_cast<float>(w.panel_stride) / kBytesPerNs,
                   static_cast<float>(n) * 16 * static_cast<float>(w.k) / job.part[i].macs_per_ns);
    }
    return ns;
  };
  // However many rows a chunk has: types without a packed form are expanded, and raw matrices are packed.
  const auto decode_ns = [](const BoundJob& job) {
    float ns = 0;
    for (uint32_t i = 0; i < job.job->n_parts; ++i) {
      const PackedWeight& w = *job.part[i].weight;
      ns += job.part[i].expand_ns * 16 * static_cast<float>(w.k);
      if (w.is_raw) ns += static_cast<float>(w.panel_stride) / kPackBytesPerNs;
    }
    return ns;
  };
  float total = 0;
  for (JobCut& cut : cuts) {
    const BoundJob& job = *cut.job;
    const uint32_t rows = cut.n_rows;
    const auto cached = static_cast<uint32_t>(kCachedInput / job.part[0].in_stride);
    cut.rows_per_chunk = std::min({rows, table_.speed.most_rows, std::max(cached, 128u)});
    while (cut.rows_per_chunk > 16 && static_cast<float>(panels_at_once(job, cut.rows_per_chunk)) *
                                              panel_ns(job, cut.rows_per_chunk) >
                                          kLongest)
      cut.rows_per_chunk = (cut.rows_per_chunk / 2 + 3) / 4 * 4;
    cut.n_row_chunks = (rows + cut.rows_per_chunk - 1) / cut.rows_per_chunk;
    cut.rows_per_chunk = (rows + cut.n_row_chunks - 1) / cut.n_row_chunks;
    if (cut.n_row_chunks > 1) {
      const uint32_t whole = cut.rows_per_chunk > 64 ? 32 : 4;  // what kernels take at once
      cut.rows_per_chunk = (cut.rows_per_chunk + whole - 1) / whole * whole;
    }
    cut.n_row_chunks = (rows + cut.rows_per_chunk - 1) / cut.rows_per_chunk;
    total += (panel_ns(job, cut.rows_per_chunk) + decode_ns(job)) *
             static_cast<float>(cut.n_row_chunks * n_panels(job.part[0].weight->n));
  }
  const float wanted = std::clamp(total / static_cast<float>(16 * n_workers), kShortest, kLongest);
  uint32_t n = 0;
  for (JobCut& cut : cuts) {
    const uint32_t panels = n_panels(cut.job->part[0].weight->n);
    const float ns = panel_ns(*cut.job, cut.rows_per_chunk) + decode_ns(*cut.job);
    const uint32_t at_once = panels_at_once(*cut.job, cut.rows_per_chunk);
    const auto many = static_cast<uint32_t>(wanted / ns) / at_once * at_once;
    cut.panels_per_chunk = std::min(std::max(many, at_once), panels);
    cut.chunk_begin = n;
    n += (panels + cut.panels_per_chunk - 1) / cut.panels_per_chunk * cut.n_row_chunks;
  }
  return n;
}

// What the batch's routes say about a phase. Again where a pass goes on at its first chunk, with the same result.
void CompiledPass::sort_by_expert(const Phase& phase, BoundPhase& bound) {
  const uint32_t rows = n_rows(phase.rows);
  if (grouped_by_ != phase.route_op) {
    const Op& route = program_.ops[phase.route_op];
    groups_.sort(value_row(route.out, 0), plan_.values[route.out].row_bytes / sizeof(float), rows,
                 route.params.n_used, route.params.n_expert);
    grouped_by_ = phase.route_op;
  }
  if (phase.kind != PhaseKind::experts) return;
  expert_cuts_.clear();
  for (const BoundJob& job : bound.jobs)
    for (const ExpertGroups::Group& g : groups_.groups())
      expert_cuts_.push_back(
          {.job = &job, .row_begin = g.begin, .n_rows = g.n, .expert = g.expert});
  bound.n_chunks = cut_jobs(expert_cuts_, cut_for_.n_workers);
}

Result<Progress> CompiledPass::advance(Execution& execution, Deadline deadline) {
  if (execution.phase == 0 && execution.chunk == 0) {
    if (!execution.batch) return error(Code::internal, "a pass without a batch");
    LLMRT_TRY(begin(*execution.batch));
  } else if (batch_ != execution.batch || !batch_) {
    return error(Code::internal, "a pass goes on with another batch than it began with");
  }
  const auto after =
      std::upper_bound(phases_.begin(), phases_.end(), execution.phase,
                       [](uint32_t stage, const BoundPhase& p) { return stage < p.stage_begin; });
  auto i = static_cast<uint32_t>(after - phases_.begin()) - 1;
  while (execution.phase < n_stages_) {
    BoundPhase& bound = phases_[i];
    if (execution.chunk == 0 && plan_.phases[i].route_op != kNone)
      sort_by_expert(plan_.phases[i], bound);
    const uint32_t stage = execution.phase - bound.stage_begin;
    if (execution.chunk < bound.n_chunks) {
      execution.chunk = pool_.run(
          execution.chunk, bound.n_chunks,
          [&](uint32_t chunk, uint32_t worker) {
            scratch_.with(worker, [&](uint8_t* s) { run_chunk(i, stage, chunk, s); });
          },
          deadline);
      if (execution.chunk < bound.n_chunks) return Progress::suspended;
    }
    ++execution.phase;
    execution.chunk = 0;
    if (stage + 1 == bound.n_stages) ++i;
    if (execution.phase < n_stages_ && bound.n_chunks && deadline.passed())
      return Progress::suspended;
  }
  batch_ = nullptr;
  return Progress::done;
}

void CompiledPass::run_chunk(uint32_t i, uint32_t stage, uint32_t chunk, uint8_t* scratch) {
  const Phase& phase = plan_.phases[i];
  switch (phase.kind) {
    case PhaseKind::rows:
      run_rows(phase, phases_[i], chunk, scratch);
      return;
    case PhaseKind::linear:
      run_linear(phases_[i].cuts, chunk, scratch);
      return;
    case PhaseKind::experts:
      run_linear(expert_cuts_, chunk, scratch);
      return;
    case PhaseKind::attend:
      run_attend(phase, phases_[i], stage, chunk, scratch);
      return;
  }
}

}  // namespace llmrt::cpu
