// Where the library calls what may allocate in libc or libstdc++ (docs/HACKING.md lists it): texts of system errors, numbers to text and
// back, the start of threads of ours, calls from threads of the host, load and answer. Round after round every block that comes
// through the table goes back through it, and none that did not.
#include <thread>

#include "counting_allocator.h"
#include "embed_support.h"

using namespace embed;

namespace {

llmrt_runtime* runtime = nullptr;

bool system_error() {
  llmrt_model* model = nullptr;
  return llmrt_model_load(runtime, "/no/such/folder/model.gguf", nullptr, &model) ==
             LLMRT_ERR_NOT_FOUND &&
         std::string(llmrt_last_error()).size() > 40;
}

bool numbers() {
  char* text = nullptr;
  const llmrt_status rendered =
      llmrt_template_render("{{ x }} {{ x | round(2) }} {{ x ** 2 }} {{ messages[0].content }}",
                            R"([{"role": "user", "content": "a text that no small string holds"}])",
                            nullptr, R"({"x": 1234.56789012345678901234567890})", 0, &text);
  llmrt_free(text);
  return rendered == LLMRT_OK;
}

bool threads() {
  bool well = llmrt_runtime_set_workers(runtime, 4) == LLMRT_OK;
  std::thread([&well] { well = well && system_error() && numbers(); }).join();
  return llmrt_runtime_set_workers(runtime, 2) == LLMRT_OK && well;
}

bool answer() {  // on an engine with a thread of its own
  llmrt_model* model = nullptr;
  llmrt_engine* engine = nullptr;
  llmrt_request* request = nullptr;
  const llmrt_gen_options options = greedy(4);
  const std::vector<int32_t> prompt = some_tokens(20, 500);
  const bool well =
      llmrt_model_load(runtime, tiny_model().c_str(), nullptr, &model) == LLMRT_OK &&
      llmrt_engine_create(model, nullptr, &engine) == LLMRT_OK &&
      llmrt_submit_tokens(engine, prompt.data(), prompt.size(), &options, &request) == LLMRT_OK &&
      llmrt_request_wait(request, -1) == LLMRT_OK;
  llmrt_request_release(request);
  llmrt_engine_release(engine);
  llmrt_model_release(model);
  return well;
}

}  // namespace

int main() {
  constexpr int kRounds = 20;
  const struct {
    const char* name;
    bool (*run)();
  } paths[] = {{"system error", system_error},
               {"numbers", numbers},
               {"threads", threads},
               {"answer", answer}};
  llmrt_runtime_options ro;
  llmrt_runtime_options_init(&ro, sizeof ro);
  count_allocations(ro);
  ro.worker_threads = 2;
  if (llmrt_runtime_create(&ro, &runtime) != LLMRT_OK)
    return std::printf("runtime: %s\n", llmrt_last_error()), 1;
  for (const auto& path : paths)  // what stays for good is taken once
    if (!path.run()) return std::printf("%s: %s\n", path.name, llmrt_last_error()), 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int64_t settled = in_use.load();
  for (const auto& path : paths) {
    const int64_t taken = n_allocations.load();
    for (int i = 0; i < kRounds; ++i)
      if (!path.run()) return std::printf("%s: %s\n", path.name, llmrt_last_error()), 1;
    // A thread that nobody waits for gives back its part a moment later.
    for (int ms = 0; ms < 2000 && in_use.load() != settled; ++ms)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::printf("%s: %lld allocations, %lld bytes left\n", path.name,
                static_cast<long long>(n_allocations.load() - taken),
                static_cast<long long>(in_use.load() - settled));
    if (n_allocations.load() == taken || in_use.load() != settled) return 1;
  }
  llmrt_runtime_release(runtime);
  return 0;
}
