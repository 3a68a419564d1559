// A load whose timeout_ms passes while the file of packed weights is written: the model is there, the file is not, and a later load with
// time enough writes it. The disk is made slow by the allocator, which sleeps once while PATH.tmp is there.
#include <filesystem>
#include <thread>

#include "../support/scratch_dir.h"
#include "counting_allocator.h"
#include "embed_support.h"

using namespace embed;

namespace {

constexpr int32_t kLimitMs = 3000;  // far more than the load takes, under a sanitizer too

const char* folder = nullptr;
std::atomic<bool> is_slow{false};

bool is_writing() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none))
    if (entry.path().extension() == ".tmp") return true;
  return false;
}
void sleep_while_writing(int64_t) {
  if (!is_slow || !is_writing()) return;
  is_slow = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(kLimitMs + 500));
}

bool is_empty() { return std::filesystem::is_empty(folder); }

}  // namespace

int main() {
  const llmrt::test::ScratchDir dir;
  folder = dir.path().c_str();
  llmrt_runtime_options ro;
  llmrt_runtime_options_init(&ro, sizeof ro);
  count_allocations(ro);
  ro.cache_dir = folder;
  llmrt_runtime* runtime = nullptr;
  llmrt_model* model = nullptr;
  llmrt_model_options mo;
  llmrt_model_options_init(&mo, sizeof mo);
  mo.packed_cache = 1;
  mo.timeout_ms = kLimitMs;
  if (llmrt_runtime_create(&ro, &runtime)) return std::printf("%s\n", llmrt_last_error()), 1;

  is_slow = true;
  at_allocation = sleep_while_writing;
  const double begin = now_ms();
  const llmrt_status slow = llmrt_model_load(runtime, tiny_model().c_str(), &mo, &model);
  const double took = now_ms() - begin;
  at_allocation = nullptr;
  if (is_slow || took < kLimitMs) return std::printf("the limit did not pass in writing\n"), 1;
  if (slow != LLMRT_OK) return std::printf("slow disk: %s\n", llmrt_last_error()), 1;
  if (vocabulary_of(model) <= 0) return std::printf("no model\n"), 1;
  if (!is_empty()) return std::printf("a file was written without time\n"), 1;
  llmrt_model_release(model);

  model = nullptr;
  if (llmrt_model_load(runtime, tiny_model().c_str(), &mo, &model))
    return std::printf("afterwards: %s\n", llmrt_last_error()), 1;
  if (is_empty()) return std::printf("no file was written\n"), 1;
  llmrt_model_release(model);
  llmrt_runtime_release(runtime);
  std::printf("a load of %.0f ms, limit %d ms: a model and no file\n", took, kLimitMs);
  return 0;
}
