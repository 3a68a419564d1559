// Tokens in, logits out, without an engine: one sequence on a Backend, blocks handed out one after the other.
//
//   auto model = test::load_golden(*backend, path);          file -> ModelDef and weights on the backend
//   test::SimpleRunner runner(*backend, model, {.kv_type = "f32"});
//   std::vector<float> logits = runner.run(tokens);          [n_tokens, n_vocab]; later calls go on where this one ended
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "formats/weight_source.h"
#include "graph/backend.h"
#include "graph/make_batch.h"
#include "model/architecture.h"
#include "runtime/source_reader.h"
#include "tests/support/host.h"

namespace llmrt::test {

inline Result<std::unique_ptr<WeightSource>> open_model(const std::string& path,
                                                        const std::string& overrides_json = "") {
  auto bytes = source_from_path(path);
  if (!bytes.ok()) return std::move(bytes).status();
  return open_weights(std::move(bytes).value(), {}, overrides_json);
}

struct TestModel {
  std::unique_ptr<WeightSource> source;
  ModelDef def;
  std::vector<WeightId> weights;
};

inline TestModel load_on(Backend& backend, const std::string& path,
                         const std::string& overrides_json = "") {
  TestModel model;
  model.source = take(open_model(path, overrides_json));
  model.def = take(define_model(*model.source));
  for (const WeightDesc& desc : model.def.program.weights) {
    const SourceReader reader(*model.source, *model.source->find(desc.name));
    model.weights.push_back(take(backend.add_weight(desc, reader, nullptr)));
  }
  return model;
}

struct SimpleOptions {
  std::string kv_type = "f32";
  uint32_t block_tokens = 32;
  uint32_t max_positions = 256;
  uint32_t max_rows = 128;
  bool raw_weights = false;
  // Called between advance() calls; null: one call without deadline.
  Deadline (*deadline)() = nullptr;
};

class SimpleRunner {
 public:
  SimpleRunner(Backend& backend, const Program& program, std::span<const WeightId> weights,
               const SimpleOptions& options)
      : backend_(backend),
        options_(options),
        n_vocab_(program.n_vocab),
        n_groups_(static_cast<uint32_t>(program.kv_groups.size())) {
    const uint32_t per_group =
        (options.max_positions + options.block_tokens - 1) / options.block_tokens;
    KvConfig config;
    config.codec = take(parse_kv_type(options.kv_type));
    config.block_tokens = options.block_tokens;
    config.n_blocks = kFirstBlock + per_group * n_groups_;
    kv_ = take(backend.kv_create(program.kv_groups, config));
    BlockId next = kFirstBlock;
    tables_.resize(n_groups_);
    // Groups take turns, so that neighbouring blocks of a group are not neighbours in memory.
    for (uint32_t i = 0; i < per_group; ++i) {
      for (auto& table : tables_) {
        REQUIRE(backend.kv_commit(kv_, next).ok());
        table.push_back(next++);
      }
    }
    CompileOptions compile;
    compile.kv = kv_;
    compile.max_rows = compile.max_out = options.max_rows;
    compile.max_seqs = 1;
    compile.max_positions = options.max_positions;
    compile.raw_weights = options.raw_weights;
    exe_ = take(backend.compile(program, weights, compile));
  }
  SimpleRunner(Backend& backend, const TestModel& model, const SimpleOptions& options = {})
      : SimpleRunner(backend, model.def.program, model.weights, options) {}
  ~SimpleRunner() {
    backend_.remove_program(exe_);
    backend_.kv_destroy(kv_);
  }
  SimpleRunner(const SimpleRunner&) = delete;
  SimpleRunner& operator=(const SimpleRunner&) = delete;

  void rewind(uint32_t n_tokens = 0) { n_past_ = n_tokens; }

  // Logits of all rows, or of the last one.
  std::vector<float> run(std::span<const int32_t> tokens, RowWant want = RowWant::all) {
    std::vector<float> out;
    for (size_t at = 0; at < tokens.size(); at += options_.max_rows) {
      const auto part = tokens.subspan(at, std::min<size_t>(options_.max_rows, tokens.size() - at));
      const bool is_last = at + part.size() == tokens.size();
      const RowRun run{part, n_past_, tables_,
                       want == RowWant::last && !is_last ? RowWant::none : want};
      make_batch({&run, 1}, n_groups_, options_.block_tokens, storage_);
      const Batch batch = storage_.view();
      Execution execution{exe_, &batch};
      while (take(backend_.advance(execution,
                                   options_.deadline ? options_.deadline() : Deadline::never())) ==
             Progress::suspended)
        ++n_suspended_;
      const auto logits = backend_.logits(exe_);
      REQUIRE(logits.size() == size_t{batch.n_out()} * n_vocab_);
      out.insert(out.end(), logits.begin(), logits.end());
      n_past_ += static_cast<uint32_t>(part.size());
    }
    return out;
  }

  // n tokens by argmax after the last row of `logits`.
  std::vector<int32_t> greedy(std::span<const float> logits, size_t n) {
    std::vector<int32_t> tokens;
    std::vector<float> row(logits.end() - n_vocab_, logits.end());
    while (tokens.size() < n) {
      const auto best = std::max_element(row.begin(), row.end()) - row.begin();
      tokens.push_back(static_cast<int32_t>(best));
      if (tokens.size() < n) row = run({&tokens.back(), 1});
    }
    return tokens;
  }

  uint32_t n_vocab() const { return n_vocab_; }
  uint64_t n_suspended() const { return n_suspended_; }

 private:
  Backend& backend_;
  SimpleOptions options_;
  uint32_t n_vocab_, n_groups_;
  KvId kv_ = 0;
  ExeId exe_ = 0;
  uint32_t n_past_ = 0;
  uint64_t n_suspended_ = 0;
  std::vector<std::vector<BlockId>> tables_;
  BatchStorage storage_;
};

}  // namespace llmrt::test
