// steady_state: no step of an engine takes memory from the system or gives any back, once the engine has seen as much work before.
//
// Three rounds of equal requests with other prompts, on the toy model and on the CPU backend with tiny models, for 1 and 4 sequences,
// greedy and with the default chain. Events are read after every step. The KV pool holds exactly one round, so the others live from
// evicted blocks. Contexts grow over many block borders, over key chunks of 256 and over all lengths at which a vector would double.
//
// What a step may take or give, and nothing else:
//
//   KV bytes        taken by the first round that uses them (docs/decisions/005-kv-slabs-reserve-nothing.md): one allocation for each
//                   slab, of the toy for each block; told by metrics().device_bytes
//   prefix nodes    taken where the prefix tree grows beyond its largest size so far: one allocation for 64 nodes (kv/prefix_node.h)
//   arrival         the first step after submit() gives back one list for each request: its way from submit to the owner
//   admission       the step that first admits a sample takes what it will need, exactly what per_admission() counts, and gives back the
//                   list that had room for the prompt only
//   long answer     one longer than what was taken ahead, 1 MiB for all samples of a request and 256 tokens at least: its vectors double,
//                   its tokens and the block table of each group; long_answer() counts
//   end             a step that ends a request gives back what the request had
//
// Not looked at here, and taking memory in steps: log probabilities (a list for each token), the first on_logits of an engine (a copy
// of a row), text that nobody reads and that is longer than 8 bytes a token, more than twice max_running requests at once, the first
// token of samples that find no place beside their first one.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../support/host.h"
#include "../support/toy_backend.h"
#include "base/check.h"
#include "base/memory.h"
#include "engine/engine.h"
#include "formats/byte_source.h"
#include "kv/prefix_node.h"

namespace {

using namespace llmrt;
using namespace llmrt::test;

std::atomic<bool> in_step{false};
std::atomic<int64_t> n_taken{0}, n_given{0};  // in steps, by any thread
std::atomic<int64_t> bytes_taken{0};          // ever

void* take_block(void*, size_t size, size_t align) {
  if (in_step.load(std::memory_order_relaxed)) n_taken.fetch_add(1);
  bytes_taken.fetch_add(static_cast<int64_t>(size));
  void* p = nullptr;
  return posix_memalign(&p, std::max(align, sizeof(void*)), size) == 0 ? p : nullptr;
}
void give_block(void*, void* p, size_t, size_t) {
  if (in_step.load(std::memory_order_relaxed)) n_given.fetch_add(1);
  std::free(p);
}

[[gnu::constructor(101)]] void hook() { set_allocator({take_block, give_block, nullptr}); }

constexpr uint32_t kContext = 1024;
constexpr int32_t kPrompt = 60, kAnswer = 600;

struct Setup {
  std::string name;
  std::shared_ptr<const LoadedModel> model;
  uint32_t block_tokens = 32;
  int32_t budget_us = 0;  // of a step: about a pass
  int64_t kv_unit = 0;    // bytes that the device takes at once
  uint64_t block_bytes = 0;
};

struct Round {
  int64_t kv = 0;     // allocations that are KV bytes
  int64_t other = 0;  // and those that are not
  int64_t n_steps = 0, n_tokens = 0, n_text = 0;
};

// The block tables, two lists of tokens, what a draw looks at, candidates unless it is greedy, and text.
int64_t per_admission(const Setup& setup, bool greedy) {
  const auto n_groups = static_cast<int64_t>(setup.model->def.program.kv_groups.size());
  return n_groups + 2 + 2 + (greedy ? 0 : 1) + (setup.model->tokenizer ? 1 : 0);
}

struct Reader {
  Engine& engine;
  std::vector<RequestPtr> requests;
  bool one_queue = false;
  Event event;

  // Everything that there is to read now. Returns how many requests it saw end.
  int read(Round& round) {
    int n_ended = 0;
    const auto look = [&] {
      if (event.type == EventType::text) {
        round.n_tokens += event.n_tokens;
        round.n_text += static_cast<int64_t>(event.text.size());
      }
      n_ended += event.type == EventType::done ? 1 : 0;
    };
    if (one_queue) {
      RequestPtr request;
      while (engine.next(0, event, request) == Code::ok) look();
    } else {
      for (const RequestPtr& request : requests) {
        while (request->next(0, event) == Code::ok) look();
      }
    }
    return n_ended;
  }
};

// False: a step gave back what it must not, and that was said.
bool play(const Setup& setup, Engine& engine, int32_t n, uint32_t salt, const GenParams& params,
          Round& round) {
  Reader reader{engine, {}, params.delivery == Delivery::engine_queue, {}};
  const auto n_vocab = setup.model->def.program.n_vocab;
  for (int32_t i = 0; i < n; ++i) {
    std::vector<Token> prompt(kPrompt);
    for (size_t j = 0; j < prompt.size(); ++j)
      prompt[j] = static_cast<Token>(
          (j * 7 + j * j * salt + salt * 31 + static_cast<size_t>(i) * 5) % n_vocab);
    GenParams mine = params;
    mine.seed = i + 1;
    reader.requests.push_back(take(engine.submit(std::move(prompt), mine)));
  }
  int64_t bytes = engine.metrics().device_bytes;
  int32_t n_running = 0;
  for (int n_ended = 0; n_ended < n; ++round.n_steps) {
    n_taken = n_given = 0;
    in_step = true;
    const Code code = engine.step(setup.budget_us).code();
    in_step = false;
    const int64_t taken = n_taken, given = n_given;
    if (code != Code::ok && code != Code::pending) return std::printf("a step failed\n"), false;
    int64_t kv = 0, n_admitted = 0;
    if (taken > 0) {
      const EngineMetrics now = engine.metrics();
      kv = (now.device_bytes - bytes) / setup.kv_unit;
      bytes = now.device_bytes;
      n_admitted = std::max(0, now.running - n_running);
      n_running = now.running;
    }
    round.kv += kv;
    round.other += taken - kv;
    const int ends = reader.read(round);
    n_ended += ends;
    const int64_t may_give = (round.n_steps == 0 ? n : 0) + n_admitted;
    if (ends == 0 && given > may_give)
      return std::printf("%s: step %lld gave %lld blocks of memory back, at most %lld are right\n",
                         setup.name.c_str(), static_cast<long long>(round.n_steps),
                         static_cast<long long>(given), static_cast<long long>(may_give)),
             false;
    if (round.n_steps > 10'000'000) return std::printf("no end\n"), false;
  }
  for (const RequestPtr& request : reader.requests) {
    if (!request->wait(0).ok() || request->usage().generated_tokens != kAnswer)
      return std::printf("a request failed\n"), false;
  }
  return true;
}

bool steady(const Setup& setup, int32_t n, bool greedy) {
  EngineOptions options;
  options.host_stepped = true;
  options.ctx_tokens = kContext;
  options.max_running = static_cast<uint32_t>(n);
  options.block_tokens = setup.block_tokens;
  const uint64_t n_groups = setup.model->def.program.kv_groups.size();
  // The newest token is never computed.
  constexpr uint32_t kComputed = kPrompt + kAnswer - 1;
  const uint64_t n_blocks =
      kFirstBlock + static_cast<uint64_t>(n) * n_groups *
                        ((kComputed + setup.block_tokens - 1) / setup.block_tokens);
  options.kv_budget = static_cast<int64_t>(n_blocks * setup.block_bytes);
  auto engine = take(Engine::create(setup.model, options));

  GenParams params;
  params.max_tokens = kAnswer;
  params.ignore_eos = true;
  if (greedy) params.sampling.temperature = 0;
  params.stop = setup.model->tokenizer ? std::vector<std::string>{"no text has this \x01 in it"}
                                       : std::vector<std::string>();
  if (n > 1) params.delivery = Delivery::engine_queue;

  Round rounds[3];
  for (uint32_t r = 0; r < 3; ++r) {
    if (!play(setup, *engine, n, r + 1, params, rounds[r])) return false;
  }
  const EngineCounters counters = engine->counters();
  std::printf(
      "%-10s %d sequences, %-7s: allocations in steps (KV, others) %lld %lld, %lld %lld, %lld "
      "%lld; %lld steps, %lld evictions\n",
      setup.name.c_str(), n, greedy ? "greedy" : "default", static_cast<long long>(rounds[0].kv),
      static_cast<long long>(rounds[0].other), static_cast<long long>(rounds[1].kv),
      static_cast<long long>(rounds[1].other), static_cast<long long>(rounds[2].kv),
      static_cast<long long>(rounds[2].other), static_cast<long long>(rounds[2].n_steps),
      static_cast<long long>(counters.eviction));

  // One node for each full block, and the root. Nodes whose window blocks are gone make room for more of them.
  const int64_t n_nodes = n * int64_t{kComputed / setup.block_tokens} + 1;
  const int64_t n_slabs = (n_nodes + kNodesPerSlab - 1) / kNodesPerSlab;
  const auto most_slabs = static_cast<int64_t>(n_blocks / kNodesPerSlab + 1);
  const int64_t admitted = n * per_admission(setup, greedy);
  bool good = true;
  const auto demand = [&](bool right, const char* what) {
    if (!right) std::printf("  FAILED: %s\n", what);
    good = good && right;
  };
  demand(rounds[0].other == n_slabs + admitted,
         "the first round takes the prefix tree's nodes, and for admissions, and no more");
  const int64_t more = rounds[1].other - admitted;
  demand(rounds[1].kv == 0 && more >= 0 && more <= (n_groups > 1 ? most_slabs - n_slabs : 0),
         "the second round takes nodes at most, and those only beside windows");
  demand(rounds[2].kv == 0 && rounds[2].other == admitted,
         "the third round takes nothing but for admissions");
  demand(counters.eviction > 0 && counters.preemption == 0,
         "blocks are evicted and nothing is preempted");
  for (const Round& round : rounds) {
    demand(round.n_steps >= kAnswer / 10, "events are read between steps");
    if (setup.model->tokenizer)
      demand(greedy || round.n_text > 0, "there is text");  // greedy may end in special tokens
    else
      demand(round.n_tokens == int64_t{n} * kAnswer, "every token is told");
  }
  return good;
}

// Sample 0 of many, the only one with a place, from its first token to its last.
bool long_answer(const Setup& setup) {
  // 9 bytes a token: 455 of each sample are taken ahead
  constexpr int32_t kSamples = 256;
  const auto n_groups = static_cast<int64_t>(setup.model->def.program.kv_groups.size());
  EngineOptions options;
  options.host_stepped = true;
  options.ctx_tokens = kContext;
  options.max_running = 1;
  options.block_tokens = setup.block_tokens;
  const uint64_t n_blocks =
      kFirstBlock + static_cast<uint64_t>(n_groups) *
                        ((kPrompt + kAnswer + setup.block_tokens - 1) / setup.block_tokens);
  options.kv_budget = static_cast<int64_t>(n_blocks * setup.block_bytes);
  auto engine = take(Engine::create(setup.model, options));
  GenParams params;
  params.max_tokens = kAnswer;
  params.ignore_eos = true;
  params.n = kSamples;
  params.sampling.temperature = 0;
  const RequestPtr request = take(engine->submit(std::vector<Token>(kPrompt, 5), params));
  Event event;
  int64_t bytes = engine->metrics().device_bytes, taken = 0;
  int32_t n_tokens = 0;
  bool ended = false;
  for (int64_t n_steps = 0; !ended && n_steps < 1'000'000; ++n_steps) {
    const bool counts = n_tokens > 0;
    n_taken = 0;
    in_step = true;
    const Code code = engine->step(setup.budget_us).code();
    in_step = false;
    if (code != Code::ok && code != Code::pending) return std::printf("a step failed\n"), false;
    const int64_t now = engine->metrics().device_bytes;
    if (counts) taken += n_taken - (now - bytes) / setup.kv_unit;
    bytes = now;
    while (request->next(0, event) == Code::ok) {
      if (event.sample != 0) continue;
      if (event.type == EventType::text) n_tokens += event.n_tokens;
      ended = ended || event.type == EventType::sample_done;
    }
  }
  request->cancel(false);
  while (engine->step(-1).code() == Code::pending) {
  }
  const int64_t right = 1 + n_groups;
  std::printf("%-10s a long answer of %d tokens: allocations in steps %lld, %lld are right\n",
              setup.name.c_str(), n_tokens, static_cast<long long>(taken),
              static_cast<long long>(right));
  return n_tokens == kAnswer && taken == right;
}

// A request that waits holds its prompt and little else, however long its answer and its context may become.
bool waits_cheaply() {
  constexpr int64_t kMost = 16 << 10;
  ToyOptions toy;
  toy.n_ctx = 32768;
  const ToyModel model = make_toy_model(toy);
  EngineOptions options;
  options.host_stepped = true;
  options.ctx_tokens = toy.n_ctx;
  options.block_tokens = 16;
  const uint64_t block_bytes = model.backend->kv_geometry({}, {{}, 16, 0}).block_bytes;
  options.kv_budget =
      static_cast<int64_t>((kFirstBlock + 2 * toy.windows.size() * toy.n_ctx / 16) * block_bytes);
  auto engine = take(Engine::create(model.model, options));
  GenParams params;  // to the context's end
  const int64_t before = bytes_taken;
  const RequestPtr request = take(engine->submit(std::vector<Token>(kPrompt, 5), params));
  const int64_t taken = bytes_taken - before;
  std::printf("a request that waits took %lld bytes, at most %lld are right\n",
              static_cast<long long>(taken), static_cast<long long>(kMost));
  return taken <= kMost;
}

Setup toy_setup() {
  ToyModel toy = make_toy_model({});
  toy.backend->chunk_units = 100'000;  // a pass in one step
  constexpr uint32_t kBlockTokens = 16;
  const auto bytes = toy.backend->kv_geometry({}, {{}, kBlockTokens, 0}).block_bytes;
  return {"toy", toy.model, kBlockTokens, 0, static_cast<int64_t>(bytes), bytes};
}

Setup cpu_setup(const std::string& name) {
  const std::string path =
      std::string(LLMRT_TESTS_DIR) + "/data/models/" + name + "/" + name + ".f16.gguf";
  Setup setup;
  setup.name = name;
  setup.budget_us = 200;
  setup.model = take(load_model(make_host(2), {take(source_from_path(path))}, {}, nullptr));
  KvConfig config;
  config.codec = EngineOptions().kv;
  config.block_tokens = setup.block_tokens;
  for (const KvGroup& group : setup.model->def.program.kv_groups)
    setup.block_bytes =
        std::max(setup.block_bytes, setup.model->backend->kv_geometry(group, config).block_bytes);
  setup.kv_unit = static_cast<int64_t>(setup.block_bytes * kSlabBlocks);
  return setup;
}

}  // namespace

int main() {
  if (kExpensiveChecks) {
    std::printf("skipped: validate() after each step takes memory\n");
    return 77;
  }
  bool good = true;
  std::vector<Setup> setups;
  setups.push_back(toy_setup());
  for (const char* name : {"qwen2", "gemma3", "qwen3_moe"}) setups.push_back(cpu_setup(name));
  for (const Setup& setup : setups)
    for (const int32_t n : {1, 4})
      for (const bool greedy : {true, false}) good = steady(setup, n, greedy) && good;
  good = long_answer(setups[0]) && good;
  good = waits_cheaply() && good;
  return good ? 0 : 1;
}
