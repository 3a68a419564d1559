#include "toy_backend.h"

#include <algorithm>
#include <limits>
#include <new>
#include <thread>

#include "tests/support/host.h"

namespace llmrt::test {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 31);
}
uint64_t start_state(int32_t token, uint32_t position) {
  return mix(mix(0x5eed, static_cast<uint64_t>(token) + 1), position + 1);
}
uint64_t fold(uint64_t h, uint32_t position, int32_t token, uint64_t state) {
  return mix(h, state + (uint64_t{position} << 40) + static_cast<uint64_t>(token));
}
uint32_t first_visible(uint32_t window, uint32_t position) {
  return window == 0 || position < window ? 0 : position - window + 1;
}

void write_logits(uint64_t state, std::span<float> out) {
  for (size_t v = 0; v < out.size(); ++v)
    out[v] = static_cast<float>(mix(state, v + 1) >> 40) * 0x1p-21f - 4.0f;  // [-4, 4)
}

}  // namespace

DeviceInfo ToyBackend::info() const {
  DeviceInfo info;
  info.id = info.backend = info.driver = "toy";
  info.name = "toy model";
  info.memory = options_.memory;
  return info;
}

Result<KvId> ToyBackend::kv_create(std::span<const KvGroup> groups, const KvConfig& config) {
  Kv kv;
  kv.groups.assign(groups.begin(), groups.end());
  kv.config = config;
  kv.blocks.resize(config.n_blocks);
  const KvId id = next_id_++;
  kvs_.emplace(id, std::move(kv));
  return id;
}

void ToyBackend::kv_destroy(KvId id) {
  if (inside_) ++violations;
  kvs_.erase(id);
}

Status ToyBackend::kv_commit(KvId id, BlockId block) {
  Kv& kv = kvs_.at(id);
  if (inside_ || block >= kv.blocks.size()) ++violations;
  if (fail_commits > 0) {
    --fail_commits;
    return error(Code::out_of_memory, "toy: no bytes for block %u", block);
  }
  if (kv.blocks[block]) return {};
  if (commit_limit >= 0 && kv.n_committed >= commit_limit)
    return error(Code::out_of_memory, "toy: no bytes for block %u", block);
  kv.blocks[block].reset(new (std::nothrow) Stamp[kv.config.block_tokens]);
  if (!kv.blocks[block]) return Status(Code::out_of_memory);
  ++kv.n_committed;
  return {};
}

void ToyBackend::kv_release(KvId id, std::span<const BlockId> free_blocks) {
  Kv& kv = kvs_.at(id);
  if (inside_) ++violations;
  for (BlockId b : free_blocks) {
    if (b < kFirstBlock || !kv.blocks[b]) {
      ++violations;
      continue;
    }
    kv.blocks[b].reset();
    --kv.n_committed;
  }
}

Status ToyBackend::kv_copy(KvId id, BlockId from, BlockId to) {
  Kv& kv = kvs_.at(id);
  if (inside_ || from < kFirstBlock || to < kFirstBlock || !kv.blocks[from] || !kv.blocks[to]) {
    ++violations;
    return error(Code::internal, "toy: copy of block %u to %u", from, to);
  }
  if (fail_copies > 0) {
    --fail_copies;
    return error(Code::device, "toy: copy of block %u failed", from);
  }
  std::copy_n(kv.blocks[from].get(), kv.config.block_tokens, kv.blocks[to].get());
  return {};
}

int64_t ToyBackend::kv_bytes(KvId id) const {
  const Kv& kv = kvs_.at(id);
  return kv.n_committed * static_cast<int64_t>(kv.config.block_tokens * sizeof(Stamp));
}

Result<ExeId> ToyBackend::compile(const Program& program, std::span<const WeightId>,
                                  const CompileOptions& options) {
  const ExeId id = next_id_++;
  Exe exe;
  exe.options = options;
  exe.state.resize(options.max_rows);
  exe.slots.reserve(size_t{options.max_rows} * program.kv_groups.size());
  exe.logits.reserve(size_t{options.max_out} * options_.n_vocab);
  if (!options_.fixed_logits.empty()) {
    for (uint32_t i = 0; i < options.max_out; ++i)
      exe.logits.insert(exe.logits.end(), options_.fixed_logits.begin(),
                        options_.fixed_logits.end());
  }
  exes_.emplace(id, std::move(exe));
  return id;
}

bool ToyBackend::check(const Kv& kv, Exe& exe, const Batch& batch) {
  const uint32_t P = kv.config.block_tokens, n_groups = static_cast<uint32_t>(kv.groups.size());
  bool good = batch.n_rows() > 0 && batch.n_rows() <= exe.options.max_rows &&
              batch.n_seqs() <= exe.options.max_seqs && batch.n_out() <= exe.options.max_out &&
              batch.row_begin.back() == batch.n_rows() &&
              batch.write_slot.size() == size_t{n_groups} * batch.n_rows();
  std::vector<uint32_t>& slots = exe.slots;
  slots.assign(batch.write_slot.begin(), batch.write_slot.end());
  for (uint32_t slot : slots)
    good = good && slot / P >= kTrashBlock && slot / P < kv.blocks.size() && kv.blocks[slot / P];
  for (BlockId b : batch.tables) good = good && b < kv.blocks.size() && kv.blocks[b];
  std::sort(slots.begin(), slots.end());
  good = good && std::adjacent_find(slots.begin(), slots.end()) ==
                     slots.end();  // no two rows write one slot
  for (int32_t p : batch.pos) good = good && static_cast<uint32_t>(p) < exe.options.max_positions;
  return good;
}

void ToyBackend::run_row(Kv& kv, Exe& exe, const Batch& batch, uint32_t row, uint32_t g) {
  const uint32_t P = kv.config.block_tokens, n_seqs = batch.n_seqs();
  const auto it = std::upper_bound(batch.row_begin.begin(), batch.row_begin.end(), row);
  const auto seq = static_cast<uint32_t>(it - batch.row_begin.begin() - 1);
  const auto position = static_cast<uint32_t>(batch.pos[row]);
  if (g == 0) exe.state[row] = start_state(batch.ids[row], position);
  uint32_t slot = batch.write_slot[size_t{g} * batch.n_rows() + row];
  if (plant_wrong_slot && row == 0) slot = slot / P * P + (slot + 1) % P;
  kv.blocks[slot / P][slot % P] = {position, batch.ids[row], exe.state[row]};
  const BlockId* table = batch.tables.data() + batch.table_begin[g * n_seqs + seq];
  uint64_t sum = 0;
  for (uint32_t p = first_visible(kv.groups[g].window, position); p <= position; ++p) {
    const Stamp& stamp = kv.blocks[table[p / P]][p % P];
    sum = fold(sum, stamp.position, stamp.token, stamp.state);
  }
  exe.state[row] = mix(exe.state[row], sum);
}

Result<Progress> ToyBackend::advance(Execution& execution, Deadline deadline) {
  if (inside_.exchange(true)) ++violations;
  struct Leave {
    std::atomic<bool>& inside;
    ~Leave() { inside = false; }
  } leave{inside_};
  Exe& exe = exes_.at(execution.exe);
  Kv& kv = kvs_.at(exe.options.kv);
  const Batch& batch = *execution.batch;
  if (!options_.fixed_logits.empty()) {
    ++passes;
    return Progress::done;
  }
  while (hang) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (fail_passes > 0) {
    --fail_passes;
    return error(Code::device, "toy: the device failed");
  }
  if (starve_passes > 0) {
    --starve_passes;
    return error(Code::out_of_memory, "toy: no memory for the pass");
  }
  if (execution.phase == 0 && execution.chunk == 0 && !check(kv, exe, batch)) {
    ++violations;
    return error(Code::internal, "toy: the batch breaks the contract");
  }
  const uint32_t n_groups = static_cast<uint32_t>(kv.groups.size());
  for (uint32_t unit = 1; execution.phase < batch.n_rows(); ++unit) {
    run_row(kv, exe, batch, execution.phase, execution.chunk);
    ++chunks;
    if (chunk_ns > 0) {
      for (const int64_t until = now_ns() + chunk_ns; now_ns() < until;) {
      }
    }
    if (++execution.chunk == n_groups) {
      execution.chunk = 0;
      ++execution.phase;
      ++rows;
    }
    if (unit % chunk_units == 0 && execution.phase < batch.n_rows() && deadline.passed())
      return Progress::suspended;
  }
  exe.logits.resize(size_t{batch.n_out()} * options_.n_vocab);
  for (uint32_t i = 0; i < batch.n_out(); ++i) {
    const std::span<float> out(exe.logits.data() + size_t{i} * options_.n_vocab, options_.n_vocab);
    write_logits(exe.state[batch.out_rows[i]], out);
    if (batch.ids[batch.out_rows[i]] == nan_token)
      std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
    if (batch.ids[batch.out_rows[i]] == inf_token)
      out.back() = std::numeric_limits<float>::infinity();
  }
  ++passes;
  return Progress::done;
}

void ToyBackend::abandon(Execution& execution) {
  execution.phase = execution.chunk = 0;
  ++dropped;
}

ToyModel make_toy_model(const ToyOptions& options) {
  ToyModel toy;
  toy.model = std::make_shared<LoadedModel>();
  toy.model->host = make_host(1);
  auto backend = std::make_unique<ToyBackend>(options);
  toy.backend = backend.get();
  toy.model->backend = std::move(backend);
  ModelDef& def = toy.model->def;
  def.hparams.arch = def.name = "toy";
  def.hparams.n_vocab = def.program.n_vocab = options.n_vocab;
  def.hparams.n_ctx_train = options.n_ctx;
  def.hparams.n_layer = static_cast<uint32_t>(options.windows.size());
  for (uint32_t window : options.windows) {
    KvGroup group;
    group.kind = window == 0 ? AttnKind::full : AttnKind::window;
    group.window = window;
    group.n_layers = group.n_kv_head = 1;
    group.d_k = group.d_v = 8;
    def.program.kv_layers.push_back({static_cast<uint32_t>(def.program.kv_groups.size()), 0});
    def.program.kv_groups.push_back(group);
  }
  toy.model->hash = "toy";
  toy.model->isa = "toy";
  return toy;
}

ToyOracle::ToyOracle(const ToyOptions& options, std::span<const int32_t> prompt)
    : options_(options), states_(options.windows.size()), logits_(options.n_vocab) {
  for (int32_t token : prompt) push(token);
}

void ToyOracle::push(int32_t token) {
  const auto position = static_cast<uint32_t>(tokens_.size());
  tokens_.push_back(token);
  uint64_t x = start_state(token, position);
  for (size_t g = 0; g < states_.size(); ++g) {
    states_[g].push_back(x);
    uint64_t sum = 0;
    for (uint32_t p = first_visible(options_.windows[g], position); p <= position; ++p)
      sum = fold(sum, p, tokens_[p], states_[g][p]);
    x = mix(x, sum);
  }
  write_logits(x, logits_);
}

std::vector<float> toy_logits(const ToyOptions& options, std::span<const int32_t> tokens) {
  return ToyOracle(options, tokens).logits();
}

std::vector<int32_t> toy_generate(const ToyOptions& options, std::span<const int32_t> prompt,
                                  const SamplingParams& params, uint64_t seed_i,
                                  uint32_t n_tokens) {
  std::vector<int32_t> history(prompt.begin(), prompt.end());
  ToyOracle oracle(options, prompt);
  auto chain = Chain::make(params, options.n_vocab, {}).value();
  for (uint32_t i = 0; i < n_tokens; ++i) {
    const Pick pick =
        chain->sample(oracle.logits(), {history, seed_i, static_cast<uint32_t>(history.size())})
            .value();
    history.push_back(pick.id);
    oracle.push(pick.id);
  }
  return {history.begin() + static_cast<std::ptrdiff_t>(prompt.size()), history.end()};
}

}  // namespace llmrt::test
