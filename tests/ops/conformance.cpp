#include "ops/conformance.h"

#include <algorithm>
#include <cmath>

#include "graph/logit_blocks.h"
#include "graph/make_batch.h"
#include "graph/reference.h"
#include "support/simple_runner.h"

namespace llmrt::test {
namespace {

int32_t token_at(uint32_t seq, uint32_t pos, uint32_t n_vocab) {
  return static_cast<int32_t>((pos * 7 + pos / 3 + seq * 13) % n_vocab);
}

// Undoes what a case put on a backend, in the right order.
struct Loaded {
  explicit Loaded(Backend& b) : backend(b) {}
  Backend& backend;
  std::vector<WeightId> weights;
  bool has_kv = false, has_exe = false;
  KvId kv = 0;
  ExeId exe = 0;
  ~Loaded() {
    if (has_exe) backend.remove_program(exe);
    if (has_kv) backend.kv_destroy(kv);
    for (WeightId id : weights) backend.remove_weight(id);
  }
};

// A backend may tell the maxima of its logits' blocks; if it does, they are those.
Status check_maxima(std::span<const float> logits, std::span<const float> maxima,
                    uint32_t n_vocab) {
  if (maxima.empty()) return {};
  const size_t n_rows = logits.size() / n_vocab, n_blocks = n_logit_blocks(n_vocab);
  if (maxima.size() != n_rows * n_blocks)
    return error(Code::internal, "%zu maxima of logits, want %zu", maxima.size(),
                 n_rows * n_blocks);
  for (size_t i = 0; i < maxima.size(); ++i) {
    const size_t first = i % n_blocks * kLogitBlock;
    const auto block = logits.subspan(i / n_blocks * n_vocab + first,
                                      std::min<size_t>(kLogitBlock, n_vocab - first));
    float want = -INFINITY;
    for (const float x : block) want = std::isnan(x) ? INFINITY : std::max(want, x);
    if (maxima[i] != want)
      return error(Code::internal, "maximum %zu of row %zu is %g, want %g", i % n_blocks,
                   i / n_blocks, static_cast<double>(maxima[i]), static_cast<double>(want));
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<float>>> run_case(const OpCase& c, Backend& backend, bool suspend,
                                                 std::vector<PassValues>* values) {
  Program program = c.kit.program;
  // Backends may count on a KV store; a program without attention gets one that no op touches.
  if (program.kv_groups.empty())
    program.kv_groups = {{.n_layers = 1, .n_kv_head = 1, .d_k = 8, .d_v = 8}};
  const auto n_groups = static_cast<uint32_t>(program.kv_groups.size());
  const auto n_seqs = static_cast<uint32_t>(c.start.size());
  std::vector<uint32_t> end = c.start;
  uint32_t max_rows = 0, max_positions = 0;
  for (const auto& pass : c.passes) {
    uint32_t n_rows = 0;
    for (const SeqRows& rows : pass) {
      end[rows.seq] += rows.n;
      n_rows += rows.n;
      max_positions = std::max(max_positions, end[rows.seq]);
    }
    max_rows = std::max(max_rows, n_rows);
  }

  Loaded on(backend);
  LLMRT_ASSIGN(on.weights, c.kit.load(backend));
  CompileOptions options;
  options.max_rows = options.max_out = max_rows;
  options.max_seqs = n_seqs;
  options.max_positions = max_positions;
  std::vector<std::vector<std::vector<BlockId>>> tables(
      n_seqs, std::vector<std::vector<BlockId>>(n_groups));
  KvConfig config;
  LLMRT_ASSIGN(config.codec, parse_kv_type(c.kv_type));
  config.block_tokens = c.block_tokens;
  BlockId next = kFirstBlock;
  // Sequences and groups take turns, so that a table's blocks lie apart.
  for (uint32_t i = 0; i * c.block_tokens < max_positions; ++i)
    for (auto& of_seq : tables)
      for (auto& table : of_seq) table.push_back(next++);
  config.n_blocks = next;
  LLMRT_ASSIGN(on.kv, backend.kv_create(program.kv_groups, config));
  on.has_kv = true;
  for (BlockId block = kFirstBlock; block < next; ++block)
    LLMRT_TRY(backend.kv_commit(on.kv, block));
  options.kv = on.kv;
  LLMRT_ASSIGN(on.exe, backend.compile(program, on.weights, options));
  on.has_exe = true;

  auto* reference = values ? static_cast<ReferenceBackend*>(&backend) : nullptr;
  std::vector<std::vector<float>> out;
  std::vector<uint32_t> past = c.start;
  BatchStorage storage;
  for (const auto& pass : c.passes) {
    std::vector<std::vector<int32_t>> ids(pass.size());
    std::vector<RowRun> runs;
    for (size_t i = 0; i < pass.size(); ++i) {
      for (uint32_t t = 0; t < pass[i].n; ++t)
        ids[i].push_back(token_at(pass[i].seq, past[pass[i].seq] + t, program.n_vocab));
      runs.push_back({ids[i], past[pass[i].seq], tables[pass[i].seq], RowWant::all});
      past[pass[i].seq] += pass[i].n;
    }
    make_batch(runs, n_groups, c.block_tokens, storage);
    const Batch batch = storage.view();
    if (reference) {
      values->push_back({std::vector<std::vector<float>>(program.ops.size())});
      reference->set_trace(
          [&](const Program&, uint32_t op, std::span<const float> value, uint32_t) {
            values->back().by_op[op].assign(value.begin(), value.end());
          });
    }
    Execution execution{on.exe, &batch};
    for (bool done = false; !done;) {
      LLMRT_ASSIGN(const Progress progress,
                   backend.advance(execution, suspend ? Deadline::at_once() : Deadline::never()));
      done = progress == Progress::done;
    }
    const auto logits = backend.logits(on.exe);
    LLMRT_TRY(check_maxima(logits, backend.logit_maxima(on.exe), program.n_vocab));
    out.emplace_back(logits.begin(), logits.end());
  }
  if (reference) reference->set_trace({});
  return out;
}

Verdict judge(const OpCase& c, Backend& backend) {
  const auto failure = [&](std::string text) {
    return Verdict{INFINITY, c.name + " on " + backend.info().id + ": " + std::move(text)};
  };
  const auto reference = make_reference_backend(make_host());
  std::vector<PassValues> values;
  auto want = run_case(c, *reference, false, &values);
  if (!want.ok()) return failure("reference: " + std::string(want.status().message()));
  auto got = run_case(c, backend, false);
  if (!got.ok()) return failure(std::string(got.status().message()));
  auto suspended = run_case(c, backend, true);
  if (!suspended.ok()) return failure(std::string(suspended.status().message()));
  if (suspended.value() != got.value())
    return failure("a pass suspended at every chunk gives other bits");

  Verdict verdict;
  for (size_t pass = 0; pass < c.passes.size(); ++pass) {
    values[pass].fused_multiply_add = backend.info().driver != "scalar";
    const std::vector<float> tolerance = c.tolerance(values[pass]);
    const auto &g = got.value()[pass], &w = want.value()[pass];
    if (g.size() != w.size() || tolerance.size() != w.size())
      return failure("logits of another size");
    for (size_t i = 0; i < w.size(); ++i) {
      const double difference = std::fabs(double{g[i]} - double{w[i]});
      if (difference == 0) continue;
      const double ratio = difference / std::max(double{tolerance[i]}, 1e-300);
      if (ratio <= verdict.worst) continue;  // a NaN goes on
      verdict.worst = ratio <= 1 ? ratio : std::max(ratio, 2.0);
      if (ratio <= 1) continue;
      const uint32_t n = c.kit.program.n_vocab;
      verdict.message = c.name + " on " + backend.info().id + ": pass " + std::to_string(pass) +
                        " row " + std::to_string(i / n) + " column " + std::to_string(i % n) +
                        " is " + std::to_string(g[i]) + ", want " + std::to_string(w[i]) + " +- " +
                        std::to_string(tolerance[i]);
      if (!(ratio < INFINITY)) return verdict;
    }
  }
  if (!c.kit.program.kv_groups.empty()) return verdict;

  OpCase alone = c;
  alone.passes.clear();
  for (const auto& pass : c.passes)
    for (const SeqRows& rows : pass)
      alone.passes.insert(alone.passes.end(), rows.n, {{rows.seq, 1}});
  auto single = run_case(alone, backend, false);
  if (!single.ok()) return failure(std::string(single.status().message()));
  std::vector<float> together, apart;
  for (const auto& pass : got.value()) together.insert(together.end(), pass.begin(), pass.end());
  for (const auto& pass : single.value()) apart.insert(apart.end(), pass.begin(), pass.end());
  if (together != apart) return failure("rows run alone give other bits");
  return verdict;
}

}  // namespace llmrt::test
