// Every op but attention, as its equation in ops.h reads.
#include <cmath>
#include <cstring>

#include "base/math.h"
#include "graph/reference_state.h"

namespace llmrt {

void ReferenceBackend::Pass::run(const Op& op, uint32_t begin, uint32_t end) const {
  const OpParams& p = op.params;
  switch (op.kind) {
    case OpKind::embed:
      return embed(op, begin, end);
    case OpKind::norm:
      return norm(op, begin, end);
    case OpKind::linear:
      return linear(op, begin, end);
    case OpKind::rope:
      return rope(op, begin, end);
    case OpKind::kv_append:
      return kv_append(op, begin, end);
    case OpKind::paged_attention:
      return paged_attention(op, begin, end);
    case OpKind::glu:
      return glu(op, begin, end);
    case OpKind::route:
      return route(op, begin, end);
    case OpKind::expert_linear:
      return expert_linear(op, begin, end);
    case OpKind::expert_sum:
      return expert_sum(op, begin, end);
    case OpKind::gather_rows:
      for (uint32_t r = begin; r < end; ++r)
        std::memcpy(row(op.out, r), row(op.in[0], batch.out_rows[r]),
                    width(op.out) * sizeof(float));
      return;
    case OpKind::add:
    case OpKind::scale:
    case OpKind::softcap:
      break;
  }
  const float* a = row(op.in[0], begin);
  const float* b = op.in[1] == kNone ? nullptr : row(op.in[1], begin);
  float* out = row(op.out, begin);
  const size_t n = size_t{end - begin} * width(op.out);
  if (op.kind == OpKind::add) {
    for (size_t i = 0; i < n; ++i) out[i] = a[i] + b[i];
  } else if (op.kind == OpKind::scale) {
    for (size_t i = 0; i < n; ++i) out[i] = a[i] * p.scalar;
  } else {
    for (size_t i = 0; i < n; ++i) out[i] = p.scalar * tanh_f32(a[i] / p.scalar);
  }
}

void ReferenceBackend::Pass::embed(const Op& op, uint32_t begin, uint32_t end) const {
  const Weight& w = *exe.weights[op.weight];
  const uint32_t panel_width = w.panel_width();
  for (uint32_t r = begin; r < end; ++r) {
    const auto id = static_cast<uint32_t>(batch.ids[r]);
    const float* panel = w.panel(id / panel_width) + id % panel_width;
    float* out = row(op.out, r);
    for (uint32_t k = 0; k < w.desc.k; ++k) out[k] = panel[size_t{k} * panel_width];
  }
}

void ReferenceBackend::Pass::norm(const Op& op, uint32_t begin, uint32_t end) const {
  const uint32_t n = width(op.out);
  const uint32_t group = op.params.group_width ? op.params.group_width : n;
  const float* w = exe.weights[op.weight]->data();
  for (uint32_t r = begin; r < end; ++r) {
    for (uint32_t g = 0; g < n; g += group) {
      const float* x = row(op.in[0], r) + g;
      float* out = row(op.out, r) + g;
      const float mean = kernels.sum_squares(x, group) / static_cast<float>(group);
      const float inverse = 1.0f / std::sqrt(mean + op.params.eps);
      for (uint32_t i = 0; i < group; ++i) out[i] = x[i] * inverse * w[i];
    }
  }
}

void ReferenceBackend::Pass::linear(const Op& op, uint32_t begin, uint32_t end) const {
  const Weight& w = *exe.weights[op.weight];
  const float* bias = op.bias == kNone ? nullptr : exe.weights[op.bias]->data();
  const uint32_t n = w.desc.n, k = w.desc.k, panel_width = w.panel_width();
  constexpr uint32_t kPanelsPerTask = 4;
  const auto n_panels = static_cast<uint32_t>(w.n_panels());
  const uint32_t n_tasks = (n_panels + kPanelsPerTask - 1) / kPanelsPerTask;
  pool.run(0, n_tasks, [&](uint32_t task, uint32_t) {
    const uint32_t last = std::min(n_panels, (task + 1) * kPanelsPerTask);
    for (uint32_t panel = task * kPanelsPerTask; panel < last; ++panel) {
      const uint32_t first_row = panel * panel_width;
      const uint32_t n_here = std::min(panel_width, n - first_row);
      float sums[kRowsPerChunk * kPanel];
      kernels.linear(w.panel(panel), panel_width, k, row(op.in[0], begin), k, end - begin, sums);
      for (uint32_t r = begin; r < end; ++r) {
        const float* from = sums + size_t{r - begin} * panel_width;
        float* out = row(op.out, r) + first_row;
        for (uint32_t i = 0; i < n_here; ++i)
          out[i] = bias ? from[i] + bias[first_row + i] : from[i];
      }
    }
  });
}

void ReferenceBackend::Pass::rope(const Op& op, uint32_t begin, uint32_t end) const {
  const RopeTable& table = exe.program.rope_tables[op.params.rope_table];
  const auto half = static_cast<uint32_t>(table.inv_freq.size());
  const uint32_t d = op.params.d_k;
  const uint32_t step = table.pairs == RopePairs::interleaved ? 2 : 1;
  const uint32_t other = table.pairs == RopePairs::interleaved ? 1 : half;
  for (uint32_t r = begin; r < end; ++r) {
    const float* x = row(op.in[0], r);
    float* out = row(op.out, r);
    if (out != x) std::memcpy(out, x, width(op.out) * sizeof(float));
    for (uint32_t j = 0; j < half; ++j) {
      const SinCos angle = sincos_f64(static_cast<double>(batch.pos[r]) * table.inv_freq[j]);
      const float c = static_cast<float>(angle.cos * static_cast<double>(table.mscale));
      const float s = static_cast<float>(angle.sin * static_cast<double>(table.mscale));
      for (uint32_t h = 0; h < op.params.n_head; ++h) {
        float* a = out + size_t{h} * d + size_t{j} * step;
        float* b = a + other;
        const float a0 = *a, b0 = *b;
        *a = __builtin_fmaf(a0, c, -(b0 * s));
        *b = __builtin_fmaf(b0, c, a0 * s);
      }
    }
  }
}

void ReferenceBackend::Pass::kv_append(const Op& op, uint32_t begin, uint32_t end) const {
  const OpParams& p = op.params;
  const KvLayer& layer = exe.program.kv_layers[p.kv_layer];
  KvStore& kv = *exe.kv;
  const uint32_t block_tokens = kv.config.block_tokens;
  for (uint32_t r = begin; r < end; ++r) {
    const uint32_t slot = batch.write_slot[size_t{layer.group} * batch.n_rows() + r];
    uint8_t* block = kv.blocks[slot / block_tokens].data();
    for (uint32_t h = 0; h < p.n_kv_head; ++h) {
      const KvStore::Row at = kv.row(layer, slot % block_tokens, h);
      encode_row(kv.config.codec.k, row(op.in[0], r) + size_t{h} * p.d_k, p.d_k, block + at.k);
      encode_row(kv.config.codec.v, row(op.in[1], r) + size_t{h} * p.d_v, p.d_v, block + at.v);
    }
  }
}

void ReferenceBackend::Pass::glu(const Op& op, uint32_t begin, uint32_t end) const {
  const auto act = op.params.act == Activation::silu ? kernels.silu_mul : kernels.gelu_mul;
  act(row(op.in[0], begin), row(op.in[1], begin), size_t{end - begin} * width(op.out),
      row(op.out, begin));
}

void ReferenceBackend::Pass::route(const Op& op, uint32_t begin, uint32_t end) const {
  const uint32_t n_expert = op.params.n_expert, n_used = op.params.n_used;
  const auto above = [](float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); };
  for (uint32_t t = begin; t < end; ++t) {
    const float* x = row(op.in[0], t);
    float* chosen = row(op.out, t);
    float* weight = chosen + n_used;
    for (uint32_t e = 0; e < n_expert; ++e) {
      uint32_t rank = 0;
      for (uint32_t i = 0; i < n_expert; ++i)
        rank += above(x[i], x[e]) || (i < e && !above(x[e], x[i])) ? 1 : 0;
      if (rank >= n_used) continue;
      chosen[rank] = static_cast<float>(e);
      weight[rank] = x[e];
    }
    const float largest = weight[0];
    float sum = 0;
    for (uint32_t r = 0; r < n_used; ++r) {
      weight[r] = exp_f32(weight[r] - largest);
      if (op.params.renormalise) sum += weight[r];
    }
    for (uint32_t e = 0; e < n_expert && !op.params.renormalise; ++e)
      sum += exp_f32(x[e] - largest);
    for (uint32_t r = 0; r < n_used; ++r) weight[r] /= sum;
  }
}

void ReferenceBackend::Pass::expert_linear(const Op& op, uint32_t begin, uint32_t end) const {
  const Weight& w = *exe.weights[op.weight];
  const uint32_t n = w.desc.n, k = w.desc.k, panel_width = w.panel_width();
  const uint32_t n_used = op.params.n_used;
  const bool own = width(op.in[0]) != k;  // each chosen expert has an input of its own
  pool.run(begin * n_used, end * n_used, [&](uint32_t task, uint32_t) {
    const uint32_t t = task / n_used, r = task % n_used;
    const auto expert = static_cast<uint64_t>(row(op.in[1], t)[r]);
    const float* x = row(op.in[0], t) + (own ? size_t{r} * k : 0);
    float* out = row(op.out, t) + size_t{r} * n;
    for (uint32_t first = 0; first < n; first += panel_width) {
      float sums[kPanel];
      kernels.linear(w.panel(expert * w.n_panels() + first / panel_width), panel_width, k, x, k, 1,
                     sums);
      std::memcpy(out + first, sums, std::min(panel_width, n - first) * sizeof(float));
    }
  });
}

void ReferenceBackend::Pass::expert_sum(const Op& op, uint32_t begin, uint32_t end) const {
  const uint32_t n = width(op.out), n_used = op.params.n_used;
  for (uint32_t t = begin; t < end; ++t) {
    const float* y = row(op.in[0], t);
    const float* weight = row(op.in[1], t) + n_used;
    float* out = row(op.out, t);
    for (uint32_t i = 0; i < n; ++i) {
      float sum = 0;
      for (uint32_t r = 0; r < n_used; ++r)
        sum = __builtin_fmaf(weight[r], y[size_t{r} * n + i], sum);
      out[i] = sum;
    }
  }
}

}  // namespace llmrt
