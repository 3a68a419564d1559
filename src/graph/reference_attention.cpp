// paged_attention of the reference interpreter: online softmax by key tiles of 64 at absolute positions, fresh (m, l, o) for every
// absolute chunk of 256 keys, chunks merged in ascending order (docs/NUMERICS.md). Row results do not depend on which rows share a pass.
//
//   tile:   s_p = scale q.k_p;  m' = max(m, max s);  (l, o) *= e^(m - m');  l += sum e^(s_p - m');  o += sum e^(s_p - m') v_p
//   (bf16 V: e^(s_p - m') is rounded to bf16 for o and not for l. The CPU backend rounds for both and sums by another tree, so the two
//   agree within a bound, not bit for bit: docs/decisions/003-attention-sums.md.)
//   merge:  (M, L, O) + (m, l, o) = (n, L e^(M-n) + l e^(m-n), O e^(M-n) + o e^(m-n)),  n = max(M, m)
#include <algorithm>
#include <vector>

#include "base/half.h"
#include "base/math.h"
#include "graph/reference_state.h"

namespace llmrt {
namespace {

uint32_t round_up(uint32_t n, uint32_t to) { return (n + to - 1) / to * to; }

// bf16 by round to nearest even, subnormal results as zero.
float round_b16(float x) {
  const uint16_t h = f32_to_bf16(x);
  return (h & 0x7f80u) == 0 ? 0.0f : bf16_to_f32(h);
}

// Running softmax of one query head over some keys.
struct Softmax {
  float m, l;
  float* o;  // [d]
  void reset(uint32_t d) {
    m = -__builtin_inff();
    l = 0;
    std::fill_n(o, d, 0.0f);
  }
  void rescale(float factor, uint32_t d) {
    l *= factor;
    for (uint32_t j = 0; j < d; ++j) o[j] *= factor;
  }
};

void merge(Softmax& into, const Softmax& from, uint32_t d) {
  if (into.l == 0.0f && into.m == -__builtin_inff()) {
    into.m = from.m;
    into.l = from.l;
    std::copy_n(from.o, d, into.o);
    return;
  }
  const float m = std::max(into.m, from.m);
  const float a = exp_f32(into.m - m), b = exp_f32(from.m - m);
  into.m = m;
  into.l = __builtin_fmaf(into.l, a, from.l * b);
  for (uint32_t j = 0; j < d; ++j) into.o[j] = __builtin_fmaf(into.o[j], a, from.o[j] * b);
}

// Quad trees of 16, added ascending.
float tile_sum(const float* p) {
  float total = 0;
  for (uint32_t i = 0; i < kKeyTile; i += 16) {
    float quad[4];
    for (uint32_t q = 0; q < 4; ++q) {
      const float* x = p + (i + 4 * q);
      quad[q] = (x[0] + x[1]) + (x[2] + x[3]);
    }
    total += (quad[0] + quad[1]) + (quad[2] + quad[3]);
  }
  return total;
}

// One KV head of the rows of one sequence. Its memory is taken by the caller, as bodies of the pool must not allocate.
struct HeadTask {
  uint32_t seq, first, last;  // rows [first, last) of the batch
  uint32_t kv_head;
  float* keys;     // [d_k][64], rounded up to 32
  float* values;   // [64][d_v], rounded up to 16
  float* outputs;  // [2 * states][d_v]
  Softmax* chunk;  // [rows][heads] of the current 256 keys
  Softmax* total;  // [rows][heads] of all keys before
};

}  // namespace

struct ReferenceBackend::Pass::Attention {
  const Pass& pass;
  const Op& op;
  const OpParams& prm = op.params;
  const KvLayer& layer = pass.exe.program.kv_layers[prm.kv_layer];
  const KvStore& kv = *pass.exe.kv;
  const uint32_t heads = prm.n_head / prm.n_kv_head;  // query heads of one KV head
  const uint32_t d_k = round_up(prm.d_k, 32), d_v = round_up(prm.d_v, 16);
  const bool q_b16 = kv.config.codec.k == RowCodec::bf16;
  const bool p_b16 = kv.config.codec.v == RowCodec::bf16;

  uint32_t pos_of(uint32_t r) const { return static_cast<uint32_t>(pass.batch.pos[r]); }
  uint32_t first_visible(uint32_t pos) const {
    return prm.window && pos >= prm.window ? pos - prm.window + 1 : 0;
  }

  // Keys and values of [from, to) of a tile as float32; the rest of the tile stays zero.
  void load_tile(const HeadTask& t, uint32_t tile, uint32_t from, uint32_t to) const {
    const Batch& b = pass.batch;
    const uint32_t table = b.table_begin[size_t{layer.group} * b.n_seqs() + t.seq];
    const uint32_t block_tokens = kv.config.block_tokens;
    std::fill_n(t.keys, size_t{kKeyTile} * d_k, 0.0f);
    std::fill_n(t.values, size_t{kKeyTile} * d_v, 0.0f);
    for (uint32_t p = from; p < to; ++p) {
      const uint8_t* block = kv.blocks[b.tables[table + p / block_tokens]].data();
      const KvStore::Row at = kv.row(layer, p % block_tokens, t.kv_head);
      float k_row[kMaxHeadWidth];
      decode_row(kv.config.codec.k, block + at.k, prm.d_k, k_row);
      for (uint32_t j = 0; j < prm.d_k; ++j)
        t.keys[size_t{j} * kKeyTile + p - tile] = q_b16 ? round_b16(k_row[j]) : k_row[j];
      float* v_row = t.values + size_t{p - tile} * d_v;
      decode_row(kv.config.codec.v, block + at.v, prm.d_v, v_row);
      for (uint32_t j = 0; p_b16 && j < prm.d_v; ++j) v_row[j] = round_b16(v_row[j]);
    }
  }

  // Adds the visible keys [from, to) of the loaded tile to the state of row r, head h.
  void add_tile(const HeadTask& t, uint32_t r, uint32_t h, uint32_t from, uint32_t to) const {
    Softmax& state = t.chunk[(r - t.first) * heads + h];
    float q[kMaxHeadWidth] = {};
    const float* q_row = pass.row(op.in[0], r) + (size_t{t.kv_head} * heads + h) * prm.d_k;
    for (uint32_t j = 0; j < prm.d_k; ++j) q[j] = q_b16 ? round_b16(q_row[j]) : q_row[j];

    float scores[kKeyTile], weights[kKeyTile] = {};
    (q_b16 ? pass.kernels.scores_b16 : pass.kernels.scores_f32)(q, t.keys, d_k, scores);
    float m = state.m;
    for (uint32_t p = from; p < to; ++p) {
      float s = scores[p] * prm.attn_scale;
      if (prm.attn_softcap > 0) s = prm.attn_softcap * tanh_f32(s / prm.attn_softcap);
      scores[p] = s;
      m = std::max(m, s);
    }
    if (m > state.m && state.l > 0.0f) state.rescale(exp_f32(state.m - m), d_v);
    state.m = m;
    pass.kernels.exp_minus(scores + from, m, to - from, weights + from);
    state.l += tile_sum(weights);
    for (uint32_t p = from; p_b16 && p < to; ++p) weights[p] = round_b16(weights[p]);
    (p_b16 ? pass.kernels.weighted_b16 : pass.kernels.weighted_f32)(weights, t.values, from, to,
                                                                    d_v, state.o);
  }

  void run(const HeadTask& t) const {
    const uint32_t n_states = (t.last - t.first) * heads;
    for (uint32_t i = 0; i < n_states; ++i) {
      t.chunk[i].o = t.outputs + size_t{i} * d_v;
      t.total[i].o = t.outputs + size_t{n_states + i} * d_v;
      t.total[i].reset(d_v);
    }
    const uint32_t last_pos = pos_of(t.last - 1);
    const uint32_t first_key = first_visible(pos_of(t.first));
    for (uint32_t c = first_key / kKeyChunk * kKeyChunk; c <= last_pos; c += kKeyChunk) {
      for (uint32_t i = 0; i < n_states; ++i) t.chunk[i].reset(d_v);
      for (uint32_t tile = c; tile < c + kKeyChunk && tile <= last_pos; tile += kKeyTile) {
        if (tile + kKeyTile <= first_key) continue;
        load_tile(t, tile, std::max(tile, first_key), std::min(tile + kKeyTile, last_pos + 1));
        for (uint32_t r = t.first; r < t.last; ++r) {
          const uint32_t from = std::max(first_visible(pos_of(r)), tile);
          const uint32_t to = std::min(pos_of(r) + 1, tile + kKeyTile);
          for (uint32_t h = 0; from < to && h < heads; ++h)
            add_tile(t, r, h, from - tile, to - tile);
        }
      }
      for (uint32_t i = 0; i < n_states; ++i) {
        if (t.chunk[i].l != 0.0f) merge(t.total[i], t.chunk[i], d_v);
      }
    }
    for (uint32_t r = t.first; r < t.last; ++r) {
      for (uint32_t h = 0; h < heads; ++h) {
        const Softmax& state = t.total[(r - t.first) * heads + h];
        float* out = pass.row(op.out, r) + (size_t{t.kv_head} * heads + h) * prm.d_v;
        for (uint32_t j = 0; j < prm.d_v; ++j) out[j] = state.o[j] / state.l;
      }
    }
  }
};

void ReferenceBackend::Pass::paged_attention(const Op& op, uint32_t begin, uint32_t end) const {
  const Attention attention{*this, op};
  const size_t tile_floats = size_t{kKeyTile} * (attention.d_k + attention.d_v);
  std::vector<HeadTask> tasks;
  size_t n_states = 0;
  for (uint32_t s = 0; s < batch.n_seqs(); ++s) {
    const uint32_t first = std::max(begin, batch.row_begin[s]);
    const uint32_t last = std::min(end, batch.row_begin[s + 1]);
    if (first >= last) continue;
    for (uint32_t g = 0; g < op.params.n_kv_head; ++g)
      tasks.push_back({s, first, last, g, nullptr, nullptr, nullptr, nullptr, nullptr});
    n_states += size_t{last - first} * op.params.n_head;
  }
  std::vector<float> floats(tasks.size() * tile_floats + 2 * n_states * attention.d_v);
  std::vector<Softmax> states(2 * n_states);
  float* next = floats.data();
  Softmax* next_state = states.data();
  for (HeadTask& t : tasks) {
    const size_t n = size_t{t.last - t.first} * attention.heads;
    t.keys = next;
    t.values = t.keys + size_t{kKeyTile} * attention.d_k;
    t.outputs = next + tile_floats;
    next = t.outputs + 2 * n * attention.d_v;
    t.chunk = next_state;
    t.total = next_state + n;
    next_state += 2 * n;
  }
  pool.run(0, static_cast<uint32_t>(tasks.size()),
           [&](uint32_t i, uint32_t) { attention.run(tasks[i]); });
}

}  // namespace llmrt
