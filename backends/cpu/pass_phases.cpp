// What the chunks of each kind of phase do.
#include <algorithm>
#include <cstring>

#include "backends/cpu/compiled_pass.h"
#include "backends/cpu/pass_scratch.h"
#include "graph/logit_blocks.h"
#include "quant/panel.h"

namespace llmrt::cpu {

// So a panel's chunk writes maxima that no other one touches.
static_assert(kLogitBlock == kPanelRows);

void CompiledPass::run_rows(const Phase& phase, const BoundPhase& bound, uint32_t chunk,
                            uint8_t* scratch) {
  const uint32_t begin = chunk * bound.rows_per_chunk;
  const uint32_t end = std::min(begin + bound.rows_per_chunk, n_rows(phase.rows));
  for (uint32_t row = begin; row < end; ++row)
    for (const RowStep& step : phase.steps) run_step(step, row, scratch);
}

void CompiledPass::run_step(const RowStep& step, uint32_t row, uint8_t* scratch) {
  switch (step.kind) {
    case StepKind::op:
      run_op(program_.ops[step.op], row, scratch);
      return;
    case StepKind::join_attention:
      join_attention(step.op, row);
      return;
    case StepKind::round: {
      const RoundedValue& r = plan_.rounded[step.rounded];
      table_.quantize(value_row(r.value, row), r.form,
                      arena_base_ + r.place.offset + size_t{row} * r.place.row_bytes);
      return;
    }
    case StepKind::deal:
      deal(plan_.dealt[step.dealt], row);
      return;
    case StepKind::rope_angles: {
      const RopeTable& t = program_.rope_tables[step.table];
      const auto n = static_cast<uint32_t>(t.inv_freq.size());
      float* cosine = angle_row(step.table, row);
      table_.rope_angles(batch_->pos[row], t.inv_freq.data(), n, t.mscale, cosine, cosine + n);
      return;
    }
  }
}

void CompiledPass::run_op(const Op& op, uint32_t row, uint8_t* scratch) {
  const OpParams& o = op.params;
  const float* in0 =
      op.in[0] != kNone && op.kind != OpKind::gather_rows ? value_row(op.in[0], row) : nullptr;
  const float* in1 = op.in[1] != kNone ? value_row(op.in[1], row) : nullptr;
  float* out = op.out != kNone ? value_row(op.out, row) : nullptr;
  const uint32_t width = op.out != kNone ? program_.values[op.out].width : 0;
  switch (op.kind) {
    case OpKind::embed:
      decode_weight_row(*weights_[op.weight], static_cast<uint32_t>(batch_->ids[row]), out,
                        scratch);
      return;
    case OpKind::norm:
      norm_groups(op, in0, out, width);
      return;
    case OpKind::rope: {
      const RopeTable& t = program_.rope_tables[o.rope_table];
      const auto n = static_cast<uint32_t>(t.inv_freq.size());
      const float* cosine = angle_row(o.rope_table, row);
      table_.rope(in0, out, o.n_head, o.d_k, n, t.pairs, cosine, cosine + n);
      return;
    }
    case OpKind::kv_append:
      append_kv(op, row);
      return;
    case OpKind::glu:
      table_.glu(in0, in1, out, width, o.act);
      return;
    case OpKind::add:
      table_.add(in0, in1, out, width);
      return;
    case OpKind::scale:
      table_.scale(in0, o.scalar, out, width);
      return;
    case OpKind::softcap:
      table_.softcap(in0, o.scalar, out, width);
      return;
    case OpKind::gather_rows:
      std::memcpy(out, value_row(op.in[0], batch_->out_rows[row]), size_t{width} * sizeof(float));
      return;
    case OpKind::route:
      table_.route(in0, out, o.n_expert, o.n_used, o.renormalise);
      return;
    case OpKind::expert_sum:
      table_.weighted_sum(in0, in1 + o.n_used, o.n_used, out, width);
      return;
    case OpKind::linear:
    case OpKind::expert_linear:
    case OpKind::paged_attention:
      return;  // phases of their own
  }
}

// A row of the value to a slot of each expert that it chose, rounded once where all read the same.
void CompiledPass::deal(const DealtValue& value, uint32_t row) {
  const float* x = value_row(value.value, row);
  uint8_t* slots = arena_base_ + value.place.offset;
  const size_t row_bytes = value.place.row_bytes;
  const uint8_t* first = nullptr;
  for (uint32_t r = 0; r < value.n_used; ++r) {
    uint8_t* slot = slots + groups_.slot(row * value.n_used + r) * row_bytes;
    if (first && !value.own)
      std::memcpy(slot, first, value.form.group ? row_bytes : size_t{value.k} * sizeof(float));
    else if (value.form.group)
      table_.quantize(x, value.form, slot);
    else
      std::memcpy(slot, x, size_t{value.k} * sizeof(float));
    first = slot;
    if (value.own) x += value.k;
  }
}

// A norm over groups has one weight of the group's width.
void CompiledPass::norm_groups(const Op& op, const float* in, float* out, uint32_t width) {
  const uint32_t group = op.params.group_width ? op.params.group_width : width;
  for (uint32_t g = 0; g < width; g += group)
    table_.norm(in + g, vectors_[op.weight], out + g, group, op.params.eps);
}

void CompiledPass::append_kv(const Op& op, uint32_t row) {
  const KvLayer& layer = program_.kv_layers[op.params.kv_layer];
  const KvHeadLayout& l = kv_.layout(layer.group);
  const uint32_t slot = batch_->write_slot[layer.group * batch_->n_rows() + row];
  const uint32_t block = slot / l.block_tokens, offset = slot % l.block_tokens;
  const uint32_t rows_after = batch_->row_begin[seq_of_row_[row] + 1] - 1 - row;
  const float* k = value_row(op.in[0], row);
  const float* v = value_row(op.in[1], row);
  for (uint32_t h = 0; h < op.params.n_kv_head; ++h, k += l.d_k, v += l.d_v) {
    uint8_t* head = kv_.head(block, layer.group, layer.index_in_group, h);
    // The first row of a block clears what no row of this pass writes; rows of this pass write the others themselves.
    if (offset == 0) clear_v(l, head, std::min(1 + rows_after, l.block_tokens));
    store_k(l, head, offset, k);
    store_v(l, head, offset, v);
  }
}

void CompiledPass::join_attention(uint32_t op_index, uint32_t row) {
  const Op& op = program_.ops[op_index];
  const AttendPlan& plan = attend_plans_[attend_plan_of_op_[op_index]];
  const uint32_t d_v = op.params.d_v;
  float* out = value_row(op.out, row);
  for (uint32_t h = 0; h < op.params.n_head; ++h) {
    const AttendPlan::Parts parts = plan.parts(row, h);
    float* first = part(parts.first, d_v);
    for (uint32_t c = 1; c < parts.n; ++c)
      table_.merge_parts(first, part(parts.first + c * parts.stride, d_v), d_v);
    table_.finish_part(first, out + size_t{h} * d_v, d_v);
  }
}

// For experts, whose rows lie apart, and for a matrix's last columns. Inlined with 16 columns it is a few vector moves.
[[gnu::always_inline]] static inline void put_columns(float* to, const float* sum,
                                                      const float* residual, uint32_t n) {
  if (!residual) {
    std::memcpy(to, sum, n * sizeof(float));
    return;
  }
  for (uint32_t c = 0; c < n; ++c) to[c] = sum[c] + residual[c];
}

void CompiledPass::run_linear(std::span<const JobCut> cuts, uint32_t chunk, uint8_t* scratch) {
  const auto after =
      std::upper_bound(cuts.begin(), cuts.end(), chunk,
                       [](uint32_t c, const JobCut& cut) { return c < cut.chunk_begin; });
  const JobCut& cut = *(after - 1);
  const BoundJob& job = *cut.job;
  const uint32_t local = chunk - cut.chunk_begin;
  const uint32_t row = local % cut.n_row_chunks * cut.rows_per_chunk;
  const uint32_t n = std::min(cut.rows_per_chunk, cut.n_rows - row);
  const uint32_t panel = local / cut.n_row_chunks * cut.panels_per_chunk;
  const uint32_t panel_end =
      std::min(panel + cut.panels_per_chunk, n_panels(job.part[0].weight->n));
  for (uint32_t i = 0; i < job.job->n_parts; ++i)
    if (job.part[i].weight->is_raw) job.part[i].weight->expect_panels(panel, panel_end, cut.expert);

  const uint32_t at_once = panels_at_once(job, n);
  for (uint32_t p = panel; p < panel_end; p += at_once) {
    const uint32_t count = std::min(at_once, panel_end - p);
    sum_panels(cut, row, n, p, count, scratch);
    write_panels(cut, row, n, p, count, reinterpret_cast<const float*>(scratch));
  }
}

// The sums of n rows with `count` panels [count][n][16] to the scratch; of two parts act(gate) up.
void CompiledPass::sum_panels(const JobCut& cut, uint32_t row, uint32_t n, uint32_t panel,
                              uint32_t count, uint8_t* scratch) {
  const BoundJob& job = *cut.job;
  auto* sums = reinterpret_cast<float*>(scratch);
  constexpr size_t kPartSums = kSumsBytes / 2 / sizeof(float);
  LinearArgs args{};
  args.n_panels = count;
  args.n_rows = n;
  args.scratch = scratch + kSumsBytes;
  for (uint32_t i = 0; i < job.job->n_parts; ++i) {
    const BoundPart& part = job.part[i];
    const PackedWeight& w = *part.weight;
    if (w.is_raw) {
      uint8_t* packed = scratch + plan_.panel_at;
      for (uint32_t q = 0; q < count; ++q)
        w.packed_panel(panel + q, cut.expert, packed + q * w.panel_stride);
      args.panel = packed;
    } else {
      args.panel = w.panel(panel, cut.expert);
    }
    args.panel_stride = w.panel_stride;
    args.k = w.k;
    args.in = part.in + size_t{cut.row_begin + row} * part.in_stride;
    args.in_stride = part.in_stride;
    args.form = part.form;
    args.format = part.format;
    args.out = sums + i * kPartSums;
    part.fn(args);
    if (!part.bias) continue;
    for (uint32_t q = 0; q < count; ++q) {
      const uint32_t first = (panel + q) * kPanelRows, columns = std::min(kPanelRows, w.n - first);
      float* out = args.out + size_t{q} * n * kPanelRows;
      for (uint32_t r = 0; r < n; ++r)
        for (uint32_t c = 0; c < columns; ++c) out[r * kPanelRows + c] += part.bias[first + c];
    }
  }
  if (job.job->n_parts == 2)
    table_.glu(sums, sums + kPartSums, sums, count * n * kPanelRows, job.job->act);
}

// sum_panels()' sums to the job's value, plus the residual; for logits also the maxima of their blocks.
void CompiledPass::write_panels(const JobCut& cut, uint32_t row, uint32_t n, uint32_t panel,
                                uint32_t count, const float* sums) {
  const LinearJob& job = *cut.job->job;
  const uint32_t n_out = cut.job->part[0].weight->n, first = panel * kPanelRows;
  const uint32_t columns = std::min(count * kPanelRows, n_out - first);
  const bool experts = job.dealt[0] != kNone, has_more = job.residual != kNone;
  if (!experts && columns == count * kPanelRows) {
    const auto stride = [&](ValueId v) { return plan_.values[v].row_bytes / sizeof(float); };
    table_.put_panels(sums, count, n, value_row(job.out, row) + first, stride(job.out),
                      has_more ? value_row(job.residual, row) + first : nullptr,
                      has_more ? stride(job.residual) : 0);
  } else {
    const uint32_t n_used = program_.ops[job.op[0]].params.n_used;
    for (uint32_t r = 0; r < n; ++r) {
      const uint32_t entry = experts ? groups_.entries()[cut.row_begin + row + r] : 0;
      float* out = experts ? value_row(job.out, entry / n_used) + size_t{entry % n_used} * n_out
                           : value_row(job.out, row + r);
      const float* more = has_more ? value_row(job.residual, row + r) : nullptr;
      for (uint32_t c = 0; c < columns; c += kPanelRows) {
        const float* sum = sums + (size_t{c / kPanelRows} * n + r) * kPanelRows;
        const float* add = more ? more + first + c : nullptr;
        if (columns - c >= kPanelRows)
          put_columns(out + first + c, sum, add, kPanelRows);
        else
          put_columns(out + first + c, sum, add, columns - c);
      }
    }
  }
  if (!maxima_base_ || job.out != program_.logits) return;
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t c = 0; c < columns; c += kPanelRows)
      maxima_row(row + r)[panel + c / kPanelRows] = max_or_infinity(
          value_row(job.out, row + r) + first + c, std::min(kPanelRows, columns - c));
}

void CompiledPass::run_attend(const Phase& phase, const BoundPhase& bound, uint32_t stage,
                              uint32_t chunk, uint8_t* scratch) {
  const Op& op = program_.ops[phase.attend_op];
  const KvLayer& layer = program_.kv_layers[op.params.kv_layer];
  const KvHeadLayout& l = kv_.layout(layer.group);
  const AttendPlan::Task task = attend_plans_[bound.attend_plan].task(stage, chunk);
  const RowBlock& rows = *task.rows;
  const HeadBlock& heads = *task.heads;

  AttendArgs a{};
  a.q = value_row(op.in[0], rows.row) + size_t{heads.first_head} * op.params.d_k;
  a.q_token_stride = plan_.values[op.in[0]].row_bytes / sizeof(float);
  a.n_tokens = rows.n_tokens;
  a.group = heads.n_heads;
  a.d_k = op.params.d_k;
  a.d_v = op.params.d_v;
  a.k_codec = l.codec.k;
  a.v_codec = l.codec.v;
  a.block_tokens = l.block_tokens;
  a.v_at = l.v_at;
  a.pos = rows.pos;
  a.window = op.params.window;
  a.scale = op.params.attn_scale;
  a.softcap = op.params.attn_softcap;
  a.part_stride = part_floats(a.d_v);
  a.scratch = scratch;
  float* fresh =
      reinterpret_cast<float*>(scratch + whole_lines(attend_scratch_bytes(a.d_k, a.d_v)));
  float* into = part(task.part, a.d_v);

  const uint32_t table = layer.group * batch_->n_seqs() + rows.seq;
  const std::span<const BlockId> blocks = batch_->tables.subspan(
      batch_->table_begin[table], batch_->table_begin[table + 1] - batch_->table_begin[table]);
  const uint32_t n_stored = (batch_->kv_len[rows.seq] + l.block_tokens - 1) / l.block_tokens;
  const uint8_t* heads_of_blocks[kAttendChunk / 16];
  a.blocks = heads_of_blocks;
  for (uint32_t c = task.first_chunk; c < task.first_chunk + task.n_chunks; ++c) {
    a.chunk_begin = c * kAttendChunk;
    const uint32_t first = a.chunk_begin / l.block_tokens;
    for (uint32_t b = 0; b < kAttendChunk / l.block_tokens; ++b) {
      const bool stored = first + b < n_stored && first + b < blocks.size();
      heads_of_blocks[b] = kv_.head(stored ? blocks[first + b] : kZeroBlock, layer.group,
                                    layer.index_in_group, heads.kv_head);
    }
    const bool join = task.joins && c > rows.first_chunk;
    a.parts = join ? fresh : into;
    table_.attend(a);
    if (!join) continue;
    for (uint32_t i = 0; i < a.n_tokens * a.group; ++i)
      table_.merge_parts(into + i * a.part_stride, fresh + i * a.part_stride, a.d_v);
  }
}

}  // namespace llmrt::cpu
