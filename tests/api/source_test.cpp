#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

#include "api_kit.h"

using namespace api_test;

namespace {

std::string file_bytes(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  REQUIRE(file);
  std::string bytes;
  char buffer[65536];
  for (size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) bytes.append(buffer, n);
  std::fclose(file);
  return bytes;
}

void answers(llmrt_source* source) {
  llmrt_model* model = nullptr;
  REQUIRE_OK(llmrt_model_load_source(nullptr, source, nullptr, &model));
  const Owned<llmrt_model> owner(model);
  char* text = nullptr;
  CHECK_OK(llmrt_model_ask(model, "hi", nullptr, &text));
  CHECK(take(text) == "123456789");
}

struct Memory {
  const std::string* bytes;
  std::atomic<int> done{0};
};
int64_t read_memory(void* user, int64_t offset, void* dst, int64_t n) {
  const std::string& bytes = *static_cast<Memory*>(user)->bytes;
  if (offset < 0 || offset >= static_cast<int64_t>(bytes.size())) return 0;
  const int64_t some = std::min<int64_t>(n, static_cast<int64_t>(bytes.size()) - offset);
  std::memcpy(dst, bytes.data() + offset, static_cast<size_t>(some));
  return some;
}
void count_done(void* user) { static_cast<Memory*>(user)->done.fetch_add(1); }
int64_t failing_read(void*, int64_t, void*, int64_t) { return -1; }

}  // namespace

TEST_CASE(
    "source: memory, callbacks and a descriptor in the middle of a file load the same model") {
  const std::string bytes = file_bytes(table_path());
  llmrt_source* source = nullptr;
  SUBCASE("copied memory") {
    std::string copy = bytes;
    REQUIRE_OK(llmrt_source_from_memory(copy.data(), copy.size(), nullptr, nullptr, &source));
    std::fill(copy.begin(), copy.end(), '\0');
    answers(source);
    llmrt_source_release(source);
  }
  SUBCASE("borrowed memory is given back once") {
    Memory memory{&bytes, {}};
    REQUIRE_OK(llmrt_source_from_memory(bytes.data(), bytes.size(), count_done, &memory, &source));
    answers(source);
    llmrt_source_release(source);
    CHECK(memory.done == 1);
  }
  SUBCASE("callbacks") {
    Memory memory{&bytes, {}};
    REQUIRE_OK(llmrt_source_from_callbacks(static_cast<int64_t>(bytes.size()), read_memory,
                                           count_done, &memory, &source));
    answers(source);
    llmrt_source_release(source);
    CHECK(memory.done == 1);
  }
  SUBCASE("descriptor with offset and length") {
    std::FILE* file = std::tmpfile();
    REQUIRE(file);
    std::fputs("1234567", file);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fputs("tail", file);
    std::fflush(file);
    REQUIRE_OK(llmrt_source_from_fd(fileno(file), 7, static_cast<int64_t>(bytes.size()), &source));
    std::fclose(file);  // the descriptor was duplicated
    answers(source);
    llmrt_source_release(source);
  }
}

TEST_CASE("source: a read that fails is ERR_IO, and wrong arguments are named") {
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_callbacks(1000, failing_read, nullptr, nullptr, &source));
  llmrt_model* model = nullptr;
  CHECK(llmrt_model_load_source(nullptr, source, nullptr, &model) == LLMRT_ERR_IO);
  llmrt_source_release(source);
  CHECK(llmrt_source_from_callbacks(-1, failing_read, nullptr, nullptr, &source) ==
        LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_source_from_callbacks(10, nullptr, nullptr, nullptr, &source) ==
        LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_source_from_memory("x", 0, nullptr, nullptr, &source) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_source_from_fd(-1, 0, -1, &source) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(llmrt_source_from_path("/", &source) < 0);
  CHECK(source == nullptr);
}

TEST_CASE("source: a path takes no shards, and a file cut short is an error that names it") {
  const std::string bytes = file_bytes(table_path());
  llmrt_source *path = nullptr, *memory = nullptr;
  REQUIRE_OK(llmrt_source_from_path(table_path().c_str(), &path));
  REQUIRE_OK(llmrt_source_from_memory(bytes.data(), bytes.size() / 2, nullptr, nullptr, &memory));
  CHECK(llmrt_source_add_shard(path, memory) == LLMRT_ERR_INVALID_ARGUMENT);
  llmrt_model* model = nullptr;
  CHECK(llmrt_model_load_source(nullptr, memory, nullptr, &model) < 0);
  CHECK(last_error().find("<memory>") != std::string::npos);
  llmrt_source_release(path);
  CHECK(llmrt_source_add_shard(memory, memory) == LLMRT_ERR_INVALID_ARGUMENT);
  CHECK(last_where() == "shard");
  llmrt_source* shard = nullptr;
  REQUIRE_OK(llmrt_source_from_memory(bytes.data(), bytes.size(), nullptr, nullptr, &shard));
  CHECK_OK(llmrt_source_add_shard(memory, shard));
  CHECK(llmrt_source_add_shard(memory, shard) == LLMRT_ERR_INVALID_ARGUMENT);
  llmrt_source_release(shard);
  llmrt_source_release(memory);
}

namespace {
int64_t hanging_read(void* user, int64_t, void*, int64_t) {
  while (!static_cast<std::atomic<bool>*>(user)->load())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return -1;
}
}  // namespace

TEST_CASE("source: a cancelled job has ended though a read hangs") {
  static std::atomic<bool> go_on{false};  // outlives the read that is left behind
  llmrt_source* source = nullptr;
  REQUIRE_OK(llmrt_source_from_callbacks(1000, hanging_read, nullptr, &go_on, &source));
  llmrt_job* job = nullptr;
  REQUIRE_OK(llmrt_model_load_async(nullptr, source, nullptr, &job));
  CHECK(llmrt_job_poll(job, 10, nullptr) == LLMRT_PENDING);
  std::thread waiter([&] { CHECK(llmrt_job_poll(job, 60000, nullptr) == LLMRT_ERR_CANCELLED); });
  CHECK_OK(llmrt_job_cancel(job));
  CHECK_OK(llmrt_job_cancel(job));
  waiter.join();
  CHECK(llmrt_job_poll(job, 0, nullptr) == LLMRT_ERR_CANCELLED);
  CHECK(last_error().find("loading was cancelled") != std::string::npos);
  llmrt_job_release(job);
  llmrt_source_release(source);
  go_on.store(true);
}
