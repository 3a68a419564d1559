#include "runtime/plan.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace llmrt {
namespace {

constexpr int64_t kLogitsBytes = int64_t{32} << 20;
constexpr uint32_t kDefaultContext = 8192;  // rules.md 4
constexpr uint32_t kDefaultSequences = 4;

int64_t read_number(const char* path, const char* key) {
  char text[4096];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return -1;
  text[n] = '\0';
  const char* at = text;
  if (key) {
    at = std::strstr(text, key);
    if (!at) return -1;
    at += std::strlen(key);
  }
  char* end = nullptr;
  const long long value = std::strtoll(at, &end, 10);
  return end == at ? -1 : value;
}

uint64_t block_bytes_of(const Backend& backend, const ModelDef& def, const KvConfig& config) {
  uint64_t bytes = 0;
  for (const KvGroup& group : def.program.kv_groups)
    bytes = std::max(bytes, backend.kv_geometry(group, config).block_bytes);
  return bytes;
}

}  // namespace

int64_t available_memory() {
  int64_t available = read_number("/proc/meminfo", "MemAvailable:");
  if (available >= 0) available *= 1024;
  const int64_t limit = read_number("/sys/fs/cgroup/memory.max", nullptr);
  const int64_t used = read_number("/sys/fs/cgroup/memory.current", nullptr);
  if (limit > 0 && used >= 0) {
    const int64_t free = std::max<int64_t>(limit - used, 0);
    available = available < 0 ? free : std::min(available, free);
  }
  return available;
}

uint32_t max_out_rows(uint32_t n_vocab, uint32_t max_rows) {
  const int64_t rows = kLogitsBytes / (int64_t{4} * std::max(n_vocab, 1u));
  return static_cast<uint32_t>(std::clamp<int64_t>(rows, 16, max_rows > 16 ? max_rows : 16));
}

MemoryPlan plan_memory(const Backend& backend, const ModelDef& def, const PlanRequest& request) {
  MemoryPlan plan;
  const uint32_t trained = std::max(def.hparams.n_ctx_train, 1u);
  plan.ctx_tokens = request.ctx_tokens ? request.ctx_tokens : std::min(trained, kDefaultContext);
  plan.max_out = max_out_rows(def.program.n_vocab, request.max_rows);
  plan.available = available_memory();
  for (const WeightDesc& weight : def.program.weights)
    plan.weights += static_cast<int64_t>(backend.weight_bytes(weight));

  KvConfig config;
  config.codec = request.kv;
  config.block_tokens = request.block_tokens;
  const auto n_groups = static_cast<int64_t>(std::max<size_t>(def.program.kv_groups.size(), 1));
  const auto block_bytes = static_cast<int64_t>(block_bytes_of(backend, def, config));
  plan.kv_per_token = block_bytes * n_groups / request.block_tokens;
  const int64_t blocks_of_one =
      (plan.ctx_tokens + request.block_tokens - 1) / request.block_tokens * n_groups;

  int64_t budget = request.kv_budget;
  if (budget < 0) {
    budget = blocks_of_one * std::min(request.max_running, kDefaultSequences) * block_bytes;
    if (plan.available >= 0)
      budget = std::min(budget, std::max(plan.available / 4, block_bytes * n_groups));
  }
  const int64_t n_blocks = block_bytes ? budget / block_bytes : blocks_of_one;
  plan.n_blocks =
      kFirstBlock + static_cast<uint32_t>(std::clamp<int64_t>(n_blocks, 0, INT32_MAX / 64));
  plan.kv = (int64_t{plan.n_blocks}) * block_bytes;

  CompileOptions compile;
  compile.max_rows = request.max_rows;
  compile.max_out = plan.max_out;
  compile.max_seqs = request.max_running;
  compile.max_positions = plan.ctx_tokens;
  plan.compute = static_cast<int64_t>(backend.compute_bytes(def.program, compile));
  plan.host_total = plan.weights + plan.kv + plan.compute;

  int64_t limit = plan.available >= 0 ? plan.available : INT64_MAX;
  if (request.memory_limit > 0) limit = std::min(limit, request.memory_limit);
  plan.fits = plan.host_total <= limit;
  const int64_t for_kv = limit == INT64_MAX ? INT64_MAX : limit - plan.weights - plan.compute;
  const int64_t fit_tokens =
      for_kv <= 0 ? 0 : (plan.kv_per_token ? for_kv / plan.kv_per_token : int64_t{trained});
  // beyond what the model was trained for only if that was asked for
  plan.max_ctx_that_fits =
      static_cast<uint32_t>(std::min<int64_t>(fit_tokens, std::max(trained, plan.ctx_tokens)));
  return plan;
}

}  // namespace llmrt
