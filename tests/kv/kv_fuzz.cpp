#include "kv_fuzz.h"

#include <algorithm>
#include <map>

namespace llmrt::test {
namespace {

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

struct Model {
  SequenceKv kv;
  std::string name_space;
  std::vector<int32_t> tokens;  // of the computed positions
  std::vector<int32_t> prompt;  // what it goes on with
};

class Fuzz {
 public:
  Fuzz(uint64_t seed, KvFuzzCounters& counters) : random_(seed), counters_(counters) {
    const std::vector<std::vector<uint32_t>> kinds = {{0},     {0, 20}, {0, 40, 7}, {24},
                                                      {5, 50}, {0, 1},  {0, 0, 33}};
    const auto& windows = kinds[pick(static_cast<uint32_t>(kinds.size()))];
    const uint32_t n_blocks = 2 + static_cast<uint32_t>(windows.size()) * (6 + pick(60));
    layout_ = test_layout(windows, 16, n_blocks);
    store_ = std::make_unique<FakeStore>(n_blocks, 16);
    auto pool = BlockPool::create(layout_, *store_);
    pool_ = std::make_unique<BlockPool>(std::move(pool).value());
    cache_ = std::make_unique<PrefixCache>(*pool_);
  }
  ~Fuzz() {
    for (auto& m : models_) cache_->release(m->kv);
  }

  std::string step() {
    ++counters_.steps;
    store_->fail_commits = pick(20) == 0 ? 1 : 0;
    store_->fail_copies = pick(40) == 0 ? 1 : 0;
    pool_->retry_commit();
    const uint32_t what = pick(100);
    std::string bad;
    if (what < 15 && models_.size() < 6)
      bad = start();
    else if (models_.empty())
      return "";
    else if (what < 65)
      bad = advance(one());
    else if (what < 73)
      fork(one());
    else if (what < 80)
      bad = truncate(one());
    else if (what < 90)
      stop();
    else if (what < 97)
      bad = evict();
    else {
      pool_->trim();
      ++counters_.trims;
    }
    return bad.empty() ? check() : bad;
  }

  std::string finish() {
    for (auto& m : models_) cache_->release(m->kv);
    models_.clear();
    cache_->clear();
    if (pool_->n_free() != layout_.capacity())
      return "blocks leaked: " + std::to_string(layout_.capacity() - pool_->n_free());
    if (cache_->n_nodes() != 0) return "prefix nodes leaked";
    return check();
  }

 private:
  uint32_t pick(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  Model& one() { return *models_[pick(static_cast<uint32_t>(models_.size()))]; }

  uint64_t content(const Model& m, uint32_t g, uint32_t position) const {
    uint64_t h = mix(g + 1, m.name_space.empty() ? 3 : 5);
    for (uint32_t p = 0; p <= position; ++p) h = mix(h, static_cast<uint64_t>(m.tokens[p]) + 1);
    return h;
  }

  std::vector<int32_t> prompt() {
    // few families of prompts, so that prefixes are shared and diverge at any position
    std::vector<int32_t> tokens(16 + pick(100));
    const uint32_t family = pick(3), fork_at = pick(120);
    for (uint32_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<int32_t>(i < fork_at ? 10 * family + i % 3 : pick(2));
    return tokens;
  }

  // By definition: the longest m blocks for which all nodes exist and every group has what a row at m * 16 sees.
  uint32_t brute_hit(const std::string& name_space, const std::vector<int32_t>& tokens,
                     uint32_t max) const {
    std::map<std::vector<int32_t>, const PrefixNode*> nodes;
    cache_->for_each_node([&](const PrefixNode& node) {
      if (!node.parent) return;
      std::vector<int32_t> path;
      const PrefixNode* n = &node;
      for (; n->parent; n = n->parent)
        path.insert(path.begin(), n->tokens.begin(), n->tokens.end());
      if (roots_[n] == name_space) nodes[path] = &node;
    });
    uint32_t best = 0;
    for (uint32_t m = 1; m <= std::min<uint32_t>(max, static_cast<uint32_t>(tokens.size())) / 16;
         ++m) {
      bool good = true;
      for (uint32_t i = 0; i < m && good; ++i) {
        const auto it =
            nodes.find(std::vector<int32_t>(tokens.begin(), tokens.begin() + (i + 1) * 16));
        if (it == nodes.end()) {
          good = false;
          break;
        }
        for (uint32_t g = 0; g < layout_.n_groups(); ++g) {
          const KvGroup& group = layout_.groups[g];
          const int64_t lowest_seen =
              group.kind == AttnKind::full ? 0 : int64_t{m} * 16 - group.window + 1;
          const bool needed = int64_t{i} * 16 + 15 >= lowest_seen;
          if (needed && it->second->blocks[g] == kZeroBlock) good = false;
        }
      }
      if (good) best = m * 16;
    }
    return best;
  }

  std::string start() {
    auto m =
        std::make_unique<Model>(Model{SequenceKv(layout_), pick(4) == 0 ? "other" : "", {}, {}});
    const std::vector<int32_t> tokens = prompt();
    const uint32_t max = static_cast<uint32_t>(tokens.size()) - 1;
    const PrefixHit hit = cache_->match(m->name_space, tokens, max);
    if (const uint32_t want = brute_hit(m->name_space, tokens, max); hit.n_tokens != want)
      return "hit of " + std::to_string(hit.n_tokens) + " tokens, by definition " +
             std::to_string(want);
    const uint32_t available = pool_->n_free() + pool_->n_idle();
    cache_->attach(m->kv, m->name_space, hit);
    const PrefixNode* root = m->kv.node();
    while (root->parent) root = root->parent;
    roots_[root] = m->name_space;
    const uint32_t taken = available - pool_->n_free() - pool_->n_idle();
    if (taken + hit.n_held != m->kv.n_blocks())
      return "a hit that says it shares " + std::to_string(hit.n_held) + " held blocks took " +
             std::to_string(taken);
    m->tokens.assign(tokens.begin(), tokens.begin() + hit.n_tokens);
    m->prompt = tokens;
    counters_.hits += hit.n_tokens > 0;
    models_.push_back(std::move(m));
    return "";
  }

  std::string advance(Model& m) {
    const uint32_t n = m.kv.computed() + 1 + pick(pick(3) == 0 ? 40 : 6);
    const uint32_t missing = m.kv.blocks_missing(*pool_, n), free = pool_->n_free();
    const uint32_t before = m.kv.reserved();
    auto copied = m.kv.reserve(*pool_, n);
    if (!copied.ok()) {
      ++counters_.failed_reserves;
      if (pool_->n_free() != free) return "a failed reserve kept blocks";
      if (m.kv.reserved() != before) return "a failed reserve moved reserved";
      if (missing > free) cache_->evict(missing - free);
      return "";
    }
    if (free - pool_->n_free() != missing)
      return "reserve took " + std::to_string(free - pool_->n_free()) + ", said " +
             std::to_string(missing);
    counters_.copies += copied.value();
    for (uint32_t p = m.kv.computed(); p < n; ++p) {
      m.tokens.push_back(p < m.prompt.size() ? m.prompt[p] : static_cast<int32_t>(pick(2)));
      for (uint32_t g = 0; g < layout_.n_groups(); ++g) {
        const BlockId b = m.kv.tables()[g][p / 16];
        if (b < kFirstBlock) return "a row would be written to block " + std::to_string(b);
        if (!store_->committed[b]) return "a row would be written to a block without bytes";
        store_->rows[b][p % 16] = content(m, g, p);
      }
    }
    m.kv.commit(n);
    if (pick(4) != 0) cache_->publish(m.kv, m.tokens, n - pick(std::min(n, 3u)));
    if (std::string bad = visible(m); !bad.empty()) return bad;
    counters_.slides += m.kv.slide(*pool_);
    return "";
  }

  void fork(Model& m) {
    if (models_.size() >= 8) return;
    auto copy =
        std::make_unique<Model>(Model{SequenceKv(layout_), m.name_space, m.tokens, m.prompt});
    m.kv.fork_to(*pool_, copy->kv);
    models_.push_back(std::move(copy));
    ++counters_.forks;
  }

  std::string truncate(Model& m) {
    const uint32_t n = pick(m.kv.reserved() + 1), computed = m.kv.computed();
    const uint32_t kept = m.kv.truncate(*pool_, n);
    if (kept > n) return "truncate kept more than asked";
    if (m.kv.n_entries() != layout_.blocks_for(kept))
      return "truncate to " + std::to_string(kept) + " kept " + std::to_string(m.kv.n_entries()) +
             " entries";
    if (m.kv.computed() != std::min(computed, kept)) return "truncate left computed wrong";
    m.tokens.resize(m.kv.computed());
    ++counters_.truncations;
    return "";
  }

  void stop() {
    const uint32_t i = pick(static_cast<uint32_t>(models_.size()));
    cache_->release(models_[i]->kv);
    models_.erase(models_.begin() + i);
  }

  std::string evict() {
    const uint32_t n = 1 + pick(8), available = pool_->n_idle();
    const uint32_t freed = cache_->evict(n);
    counters_.evictions += freed;
    if (freed < std::min(n, available))
      return "evicted " + std::to_string(freed) + " of " + std::to_string(n) + ", idle were " +
             std::to_string(available);
    return "";
  }

  std::string visible(const Model& m) const {
    for (uint32_t g = 0; g < layout_.n_groups(); ++g) {
      const KvGroup& group = layout_.groups[g];
      const uint32_t n = m.kv.computed();
      const uint32_t from =
          group.kind == AttnKind::full || n < group.window ? 0 : n - group.window + 1;
      for (uint32_t p = from; p < n; ++p) {
        const BlockId b = m.kv.tables()[g][p / 16];
        if (store_->rows[b][p % 16] != content(m, g, p))
          return "group " + std::to_string(g) + " position " + std::to_string(p) + " of " +
                 std::to_string(n) + " reads something else from block " + std::to_string(b);
      }
    }
    return "";
  }

  std::string check() const {
    std::vector<const SequenceKv*> all;
    for (const auto& m : models_) all.push_back(&m->kv);
    if (Status status = validate_kv(*pool_, *cache_, all); !status.ok())
      return std::string(status.message());
    for (const auto& m : models_) {
      if (m->tokens.size() != m->kv.computed()) return "computed is not what was computed";
      if (std::string bad = visible(*m); !bad.empty()) return bad;
    }
    if (std::any_of(store_->rows[kZeroBlock].begin(), store_->rows[kZeroBlock].end(),
                    [](uint64_t v) { return v != 0; }))
      return "the zero block was written";
    return "";
  }

  std::mt19937_64 random_;
  KvFuzzCounters& counters_;
  KvLayout layout_;
  std::unique_ptr<FakeStore> store_;
  std::unique_ptr<BlockPool> pool_;
  std::unique_ptr<PrefixCache> cache_;
  std::vector<std::unique_ptr<Model>> models_;
  mutable std::map<const PrefixNode*, std::string> roots_;
};

}  // namespace

std::string run_kv_fuzz(uint64_t seed, uint32_t steps, KvFuzzCounters& counters) {
  Fuzz fuzz(seed, counters);
  for (uint32_t i = 0; i < steps; ++i) {
    if (std::string bad = fuzz.step(); !bad.empty())
      return "seed " + std::to_string(seed) + " step " + std::to_string(i) + ": " + bad;
  }
  std::string bad = fuzz.finish();
  return bad.empty() ? bad : "seed " + std::to_string(seed) + " at the end: " + bad;
}

}  // namespace llmrt::test
