// Attention: every table gives the same bits; the bits do not depend on the cut; the values are attention's.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "backends/cpu/attend_plan.h"
#include "backends/cpu/kernel_table.h"
#include "backends/cpu/kv_slabs.h"
#include "base/half.h"
#include "base/math.h"
#include "base/memory.h"
#include "base/thread_pool.h"
#include "tests/cpu/kernel_tables.h"
#include "tests/cpu/random_weights.h"
#include "tests/support/worse.h"

using namespace llmrt;
using cpu::KernelTable;

namespace {

struct Case {
  uint32_t d_k, d_v, group, n_keys, block_tokens, window;
  RowCodec k, v;
  float softcap;
};

const Case kCases[] = {
    {64, 64, 7, 300, 32, 0, RowCodec::bf16, RowCodec::bf16, 0},
    {128, 128, 6, 130, 64, 0, RowCodec::bf16, RowCodec::bf16, 0},
    {256, 256, 4, 90, 16, 40, RowCodec::bf16, RowCodec::bf16, 0},
    {16, 24, 1, 1, 32, 0, RowCodec::bf16, RowCodec::bf16, 0},
    {20, 12, 3, 600, 16, 100, RowCodec::f32, RowCodec::f32, 30},
    {80, 80, 2, 257, 32, 0, RowCodec::f16, RowCodec::f16, 0},
    {64, 32, 5, 64, 32, 0, RowCodec::f16, RowCodec::bf16, 50},
    {31, 17, 2, 65, 32, 7, RowCodec::bf16, RowCodec::f32, 0},
    {96, 48, 3, 605, 32, 320, RowCodec::bf16, RowCodec::bf16, 0},
    // windows begin behind the first tile, of some rows
    {64, 64, 2, 200, 32, 70, RowCodec::bf16, RowCodec::bf16, 0},
};

// One KV head of one layer, filled with n_keys random rows.
struct Cache {
  KvGroup group;
  KvConfig config;
  std::unique_ptr<cpu::KvSlabs> slabs;
  std::vector<float> k, v;  // as stored, decoded
  explicit Cache(const Case& c) {
    group = {AttnKind::full, 0, 1, 1, c.d_k, c.d_v};
    config.codec = {c.k, c.v};
    config.block_tokens = c.block_tokens;
    config.n_blocks = kFirstBlock + c.n_keys / c.block_tokens + 1;
    slabs = std::move(cpu::KvSlabs::create({&group, 1}, config)).value();
    k = test::random_floats(size_t{c.n_keys} * c.d_k, 11);
    v = test::random_floats(size_t{c.n_keys} * c.d_v, 12);
    for (uint32_t t = 0; t < c.n_keys; ++t) {
      const BlockId block = kFirstBlock + t / c.block_tokens;
      CHECK(slabs->commit(block).ok());
      uint8_t* head = slabs->head(block, 0, 0, 0);
      if (t % c.block_tokens == 0) {
        std::memset(head, 0xff,
                    slabs->layout(0).head_bytes);  // NaN everywhere: what a used block may hold
        cpu::clear_v(slabs->layout(0), head, 1);
      }
      cpu::store_k(slabs->layout(0), head, t % c.block_tokens, &k[size_t{t} * c.d_k]);
      cpu::store_v(slabs->layout(0), head, t % c.block_tokens, &v[size_t{t} * c.d_v]);
    }
    round(c.k, k);
    round(c.v, v);
  }
  static void round(RowCodec codec, std::vector<float>& values) {
    std::vector<uint8_t> row(codec_row_bytes(codec, static_cast<uint32_t>(values.size())));
    encode_row(codec, values.data(), static_cast<uint32_t>(values.size()), row.data());
    decode_row(codec, row.data(), static_cast<uint32_t>(values.size()), values.data());
  }
};

// Rows of `n_tokens` tokens whose last sits on the last key.
std::vector<float> attend_all(const KernelTable& table, const Case& c, const Cache& cache,
                              const float* q, uint32_t first_token, uint32_t n_tokens) {
  const size_t part = cpu::part_floats(c.d_v);
  const uint32_t n = n_tokens * c.group;
  Buffer state = Buffer::make(n * part * 4), fresh = Buffer::make(n * part * 4),
         scratch = Buffer::make(cpu::attend_scratch_bytes(c.d_k, c.d_v));
  const uint8_t* blocks[16];
  cpu::AttendArgs a{};
  a.q = q + size_t{first_token} * c.group * c.d_k;
  a.q_token_stride = size_t{c.group} * c.d_k;
  a.n_tokens = n_tokens;
  a.group = c.group;
  a.d_k = c.d_k;
  a.d_v = c.d_v;
  a.k_codec = c.k;
  a.v_codec = c.v;
  a.block_tokens = c.block_tokens;
  a.blocks = blocks;
  a.v_at = cache.slabs->layout(0).v_at;
  a.window = c.window;
  a.scale = 1.0f / std::sqrt(static_cast<float>(c.d_k));
  a.softcap = c.softcap;
  a.part_stride = part;
  a.scratch = scratch.data();
  a.pos = c.n_keys - 8 + first_token;
  if (c.n_keys < 8) a.pos = c.n_keys - 1;
  for (uint32_t begin = 0; begin < c.n_keys; begin += cpu::kAttendChunk) {
    for (uint32_t b = 0; b < cpu::kAttendChunk / c.block_tokens; ++b) {
      const uint32_t index = begin / c.block_tokens + b;
      blocks[b] = cache.slabs->head(
          index * c.block_tokens < c.n_keys ? kFirstBlock + index : kZeroBlock, 0, 0, 0);
    }
    a.chunk_begin = begin;
    a.parts = begin ? fresh.as<float>() : state.as<float>();
    table.attend(a);
    for (uint32_t i = 0; begin && i < n; ++i)
      table.merge_parts(state.as<float>() + i * part, fresh.as<float>() + i * part, c.d_v);
  }
  std::vector<float> out(size_t{n} * c.d_v);
  for (uint32_t i = 0; i < n; ++i)
    table.finish_part(state.as<float>() + i * part, &out[size_t{i} * c.d_v], c.d_v);
  return out;
}

uint32_t tokens_of(const Case& c) { return c.n_keys < 8 ? 1 : 8; }

float bf16_rounded(float x) { return bf16_to_f32(f32_to_bf16(x)); }

// acc + left . right as the class has it. b16: the left side is rounded, every 32 terms are an even and an odd chain from +0, added, and
// their sum is added to acc. f32: one chain.
float dot_by_the_rule(bool b16, const std::vector<float>& left, const std::vector<float>& right,
                      float acc) {
  if (!b16) {
    for (size_t i = 0; i < left.size(); ++i) acc = std::fma(left[i], right[i], acc);
    return acc;
  }
  for (size_t begin = 0; begin < left.size(); begin += 32) {
    float chain[2] = {0.0f, 0.0f};
    for (size_t i = begin; i < std::min(begin + 32, left.size()); ++i)
      chain[i % 2] = std::fma(bf16_rounded(left[i]), right[i], chain[i % 2]);
    acc += chain[0] + chain[1];
  }
  return acc;
}

// Quarters of a tile ascending, each by a halving tree.
float tile_sum_by_the_rule(const std::vector<float>& p) {
  float total = 0;
  for (size_t quarter = 0; quarter < 64; quarter += 16) {
    std::vector<float> t(p.begin() + static_cast<long>(quarter),
                         p.begin() + static_cast<long>(quarter + 16));
    for (size_t half = 8; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i) t[i] += t[i + half];
    total = quarter == 0 ? t[0] : total + t[0];
  }
  return total;
}

// docs/decisions/003: one query row at `pos`, written down once more without a thought of speed.
std::vector<float> attention_by_the_rule(const Case& c, const Cache& cache, const float* query,
                                         uint32_t pos) {
  const bool k_b16 = c.k == RowCodec::bf16, v_b16 = c.v == RowCodec::bf16;
  const float scale = 1.0f / std::sqrt(static_cast<float>(c.d_k));
  const std::vector<float> q(query, query + c.d_k);
  const uint32_t first = c.window && pos + 1 > c.window ? pos + 1 - c.window : 0;
  struct State {
    float m = -std::numeric_limits<float>::infinity(), l = 0;
    std::vector<float> o;
  };
  State all;
  for (uint32_t chunk = 0; chunk <= pos; chunk += 256) {
    State part;
    part.o.assign(c.d_v, 0.0f);
    for (uint32_t tile = chunk; tile < chunk + 256; tile += 64) {
      if (tile + 64 <= first || tile > pos) continue;
      std::vector<float> p(64, -std::numeric_limits<float>::infinity());
      float m = part.m;
      for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t key = tile + i;
        if (key < first || key > pos) continue;
        const auto k = cache.k.begin() + static_cast<long>(size_t{key} * c.d_k);
        float s = dot_by_the_rule(k_b16, q, std::vector<float>(k, k + c.d_k), 0.0f) * scale;
        if (c.softcap > 0) s = c.softcap * tanh_f32(s / c.softcap);
        p[i] = s;
        m = std::max(m, s);
      }
      for (float& x : p) x = exp_f32(x - m);
      if (v_b16)
        for (float& x : p) x = bf16_rounded(x);
      const float alpha = exp_f32(part.m - m);
      part.m = m;
      part.l = std::fma(part.l, alpha, tile_sum_by_the_rule(p));
      for (uint32_t j = 0; j < c.d_v; ++j) {
        std::vector<float> column(64, 0.0f);
        for (uint32_t i = 0; i < 64 && tile + i < c.n_keys; ++i)
          column[i] = cache.v[size_t{tile + i} * c.d_v + j];
        part.o[j] = dot_by_the_rule(v_b16, p, column, part.o[j] * alpha);
      }
    }
    if (part.l == 0) continue;          // no visible key
    for (float& x : part.o) x += 0.0f;  // -0 to +0
    if (all.l == 0) {
      all = part;
      continue;
    }
    const float m = std::max(all.m, part.m);
    const float a = exp_f32(all.m - m), b = exp_f32(part.m - m);
    for (uint32_t j = 0; j < c.d_v; ++j) all.o[j] = std::fma(all.o[j], a, part.o[j] * b);
    all.l = std::fma(all.l, a, part.l * b);
    all.m = m;
  }
  const float inverse = 1.0f / all.l;
  for (float& x : all.o) x *= inverse;
  return all.o;
}

}  // namespace

TEST_CASE("attention equals the rule bit for bit on every table") {
  const FloatScope floats(FloatMode::compute);
  for (const Case& c : kCases) {
    const Cache cache(c);
    const auto q = test::random_floats(size_t{8} * c.group * c.d_k, 13, 2.0f);
    std::vector<float> want;
    for (uint32_t t = 0; t < tokens_of(c); ++t)
      for (uint32_t h = 0; h < c.group; ++h) {
        const auto row = attention_by_the_rule(c, cache, &q[(size_t{t} * c.group + h) * c.d_k],
                                               c.n_keys < 8 ? c.n_keys - 1 : c.n_keys - 8 + t);
        want.insert(want.end(), row.begin(), row.end());
      }
    for (const KernelTable* table : test::all_tables()) {
      CAPTURE(table->name);
      CAPTURE(c.d_k);
      CAPTURE(c.n_keys);
      const auto got = attend_all(*table, c, cache, q.data(), 0, tokens_of(c));
      REQUIRE(got.size() == want.size());
      CHECK(std::memcmp(got.data(), want.data(), want.size() * 4) == 0);
    }
  }
}

TEST_CASE(
    "attention has the same bits on every table, and a token alone those it has among others") {
  const FloatScope floats(FloatMode::compute);
  for (const Case& c : kCases) {
    const Cache cache(c);
    const auto q = test::random_floats(size_t{8} * c.group * c.d_k, 13, 2.0f);
    const auto want = attend_all(*test::all_tables().back(), c, cache, q.data(), 0, tokens_of(c));
    for (const KernelTable* table : test::all_tables()) {
      CAPTURE(table->name);
      CAPTURE(c.d_k);
      CAPTURE(c.n_keys);
      const auto all = attend_all(*table, c, cache, q.data(), 0, tokens_of(c));
      CHECK(std::memcmp(all.data(), want.data(), all.size() * 4) == 0);
      for (uint32_t t = 0; t < tokens_of(c); ++t) {
        const auto alone = attend_all(*table, c, cache, q.data(), t, 1);
        CHECK(std::memcmp(alone.data(), &want[size_t{t} * c.group * c.d_v], alone.size() * 4) == 0);
      }
    }
  }
}

TEST_CASE("attention's values are those of the formula") {
  const FloatScope floats(FloatMode::compute);
  for (const Case& c : kCases) {
    const Cache cache(c);
    const auto q = test::random_floats(size_t{8} * c.group * c.d_k, 13, 2.0f);
    const auto got = attend_all(cpu::default_kernel_table(), c, cache, q.data(), 0, tokens_of(c));
    double worst = 0;
    for (uint32_t t = 0; t < tokens_of(c); ++t) {
      const uint32_t pos = c.n_keys < 8 ? c.n_keys - 1 : c.n_keys - 8 + t;
      const uint32_t first = c.window && pos + 1 > c.window ? pos + 1 - c.window : 0;
      for (uint32_t h = 0; h < c.group; ++h) {
        std::vector<double> p(pos + 1, 0.0);
        double total = 0;
        for (uint32_t key = first; key <= pos; ++key) {
          double s = 0;
          for (uint32_t j = 0; j < c.d_k; ++j)
            s += static_cast<double>(q[(size_t{t} * c.group + h) * c.d_k + j]) *
                 cache.k[size_t{key} * c.d_k + j];
          s /= std::sqrt(static_cast<double>(c.d_k));
          if (c.softcap > 0) s = c.softcap * std::tanh(s / c.softcap);
          p[key] = std::exp(s);
          total += p[key];
        }
        for (uint32_t j = 0; j < c.d_v; ++j) {
          double o = 0;
          for (uint32_t key = first; key <= pos; ++key)
            o += p[key] / total * cache.v[size_t{key} * c.d_v + j];
          worst = test::worse(
              worst,
              std::fabs(o - static_cast<double>(got[(size_t{t} * c.group + h) * c.d_v + j])));
        }
      }
    }
    CAPTURE(c.d_k);
    CAPTURE(c.n_keys);
    // b16: q and p are rounded to 8 bits, 2^-9 relative each, on scores of up to about 8.
    CHECK(worst < (c.k == RowCodec::bf16 || c.v == RowCodec::bf16 ? 6e-2 : 1e-5));
  }
}

TEST_CASE("a plan's tasks cover every row, head and key chunk once") {
  for (uint32_t window : {0u, 300u})
    for (uint32_t max_rows : {16u, 512u}) {
      cpu::AttendPlan plan({14, 2, 64, 64, window}, max_rows, 4, 20.0f);
      // Sequences: a long decode, a prefill in the middle, a short one.
      const uint32_t rows[3] = {1, max_rows == 16 ? 13u : 200u, 2};
      const uint32_t start[3] = {3000, 500, 0};
      std::vector<int32_t> ids, pos;
      std::vector<uint32_t> row_begin{0}, kv_len;
      for (int s = 0; s < 3; ++s) {
        for (uint32_t r = 0; r < rows[s]; ++r) {
          ids.push_back(0);
          pos.push_back(static_cast<int32_t>(start[s] + r));
        }
        row_begin.push_back(static_cast<uint32_t>(ids.size()));
        kv_len.push_back(start[s] + rows[s]);
      }
      Batch batch;
      batch.ids = ids;
      batch.pos = pos;
      batch.row_begin = row_begin;
      batch.kv_len = kv_len;
      plan.prepare(batch);
      std::vector<std::vector<uint32_t>> chunks(ids.size() * 14);  // in the order of stages
      for (uint32_t stage = 0; stage < plan.n_stages(); ++stage)
        for (uint32_t i = 0; i < plan.n_tasks(); ++i) {
          const auto task = plan.task(stage, i);
          for (uint32_t t = 0; t < task.rows->n_tokens; ++t)
            for (uint32_t h = 0; h < task.heads->n_heads; ++h)
              for (uint32_t c = 0; c < task.n_chunks; ++c) {
                const uint32_t row = task.rows->row + t, head = task.heads->first_head + h;
                const auto parts = plan.parts(row, head);
                const uint32_t part = task.part + t * task.heads->n_heads + h;
                CHECK((part - parts.first) ==
                      (parts.stride ? (task.first_chunk - task.rows->first_chunk) * parts.stride
                                    : 0));
                CHECK(part < max_rows * 14);
                chunks[row * 14 + head].push_back(task.first_chunk + c);
              }
        }
      for (size_t r = 0; r < ids.size(); ++r) {
        const uint32_t p = static_cast<uint32_t>(pos[r]);
        const uint32_t first = window && p + 1 > window ? (p + 1 - window) / 256 : 0;
        for (uint32_t h = 0; h < 14; ++h) {
          const auto& seen = chunks[r * 14 + h];
          CHECK(seen.front() <= first);
          CHECK(seen.back() >= p / 256);
          for (size_t i = 1; i < seen.size(); ++i) CHECK(seen[i] == seen[i - 1] + 1);
        }
      }
    }
}
