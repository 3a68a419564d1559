// The file of packed weights: there and back, and whatever may happen to it on the way.
#include "runtime/packed_cache.h"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "base/platform/new_file.h"
#include "load_kit.h"
#include "quant/panel.h"
#include "support/scratch_dir.h"

using namespace llmrt;
using namespace llmrt::test;

namespace {

std::string model_path() { return repo_data("gguf_quant/llama_gqa.Q4_K_M.gguf"); }
std::string other_model_path() { return repo_data("gguf_quant/llama_gqa.Q8_0.gguf"); }

// A folder with the packed weights of one model, and that model's logits.
struct Cache {
  ScratchDir dir;
  std::vector<float> logits;
  std::string path;

  Cache() {
    Log log;
    const ModelPtr model = load(model_path(), options(), log);
    CHECK(model->mapped_bytes == 0);
    CHECK(log.warnings().empty());
    logits = logits_of(*model);
    const auto files = files_in(dir.path());
    REQUIRE(files.size() == 1);
    path = dir.path() + "/" + files[0];
    REQUIRE(path ==
            PackedCache(*model->host, *model->backend, model->def.program, model->hash, dir.path())
                .path());
  }
  ModelOptions options() const { return on_cpu(LoadMode::automatic, dir.path()); }
  std::vector<uint8_t> bytes() const { return read_file(path); }
  void write(const std::vector<uint8_t>& content) const {
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
  }

  // Loads without a word, out of the file.
  void check_used() const {
    Log log;
    const ModelPtr model = load(model_path(), options(), log);
    CHECK(log.warnings().empty());
    CHECK(model->mapped_bytes == model->weight_bytes);
    CHECK(logits_of(*model) == logits);
    CHECK(files_in(dir.path()).size() == 1);
  }
  // Says so in one line, loads from the model's file and writes the other one anew.
  void check_renewed(const std::string& what_is_said) const {
    Log log;
    const ModelPtr model = load(model_path(), options(), log);
    REQUIRE(log.warnings().size() == 1);
    CHECK_MESSAGE(log.warnings()[0].find(path) == 0, log.warnings()[0]);
    CHECK_MESSAGE(log.warnings()[0].find(what_is_said) != std::string::npos, log.warnings()[0]);
    CHECK(model->mapped_bytes == 0);
    CHECK(logits_of(*model) == logits);
    check_used();
  }
};

}  // namespace

TEST_CASE("packed cache: the second load maps what the first one packed, with the same logits") {
  const Cache cache;
  cache.check_used();
  const auto bytes = cache.bytes();
  CHECK(bytes.size() % 64 == 0);
  cache.check_used();
  CHECK(cache.bytes() == bytes);

  // The name says model and layout; another model has another file beside it.
  const ModelPtr other = load(other_model_path(), cache.options());
  CHECK(other->mapped_bytes == 0);
  CHECK(files_in(cache.dir.path()).size() == 2);
  CHECK(std::filesystem::path(cache.path)
            .filename()
            .string()
            .find(load(model_path(), cache.options())->hash + "-" + std::to_string(kPanelLayout) +
                  "-") == 0);
}

TEST_CASE(
    "packed cache: weights lie at multiples of 64 bytes and stay mapped as long as the model") {
  const Cache cache;
  const auto is_mapped = [&] {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    return text.find(cache.path) != std::string::npos;
  };
  CHECK(!is_mapped());
  ModelPtr model = load(model_path(), cache.options());
  CHECK(is_mapped());
  const PackedCache same(*model->host, *model->backend, model->def.program, model->hash,
                         cache.dir.path());
  CHECK(same.file_bytes() == cache.bytes().size());
  for (size_t i = 0; i < model->weights.size(); ++i) {
    const auto bytes = same.weight(*model->packed_file, i);
    CHECK(reinterpret_cast<uintptr_t>(bytes.data()) % 64 == 0);
    CHECK(bytes.size() == model->backend->weight_bytes(model->def.program.weights[i]));
  }
  // Whoever has the old file mapped keeps it.
  std::filesystem::remove(cache.path);
  CHECK(logits_of(*model) == cache.logits);
  model.reset();
  CHECK(!is_mapped());
}

TEST_CASE("packed cache: nothing is written or looked for unless it is asked for") {
  const Cache cache;
  cache.write({1, 2, 3});
  Log log;
  const ModelPtr model = load(model_path(), on_cpu(), log);
  CHECK(log.warnings().empty());
  CHECK(cache.bytes() == std::vector<uint8_t>{1, 2, 3});
}

TEST_CASE("packed cache: a file that was cut is packed anew") {
  const Cache cache;
  const auto whole = cache.bytes();
  for (const size_t size :
       {size_t{1}, size_t{63}, size_t{64}, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(size);
    cache.write({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    cache.check_renewed("the file has " + std::to_string(size) + " bytes");
    CHECK(cache.bytes() == whole);
  }
  cache.write({});
  cache.check_renewed("empty");
  auto longer = whole;
  longer.push_back(0);
  cache.write(longer);
  cache.check_renewed("the packed weights have " + std::to_string(whole.size()));
}

TEST_CASE("packed cache: a changed byte anywhere that matters is found") {
  const Cache cache;
  const auto whole = cache.bytes();
  const ModelPtr model = load(model_path(), on_cpu());
  const PackedCache same(*model->host, *model->backend, model->def.program, model->hash,
                         cache.dir.path());
  std::vector<size_t> head, weights;
  for (size_t at = 0; at < 64 + 8 * model->weights.size(); at += 5) head.push_back(at);
  // the first byte of the first weight, the last of the last one, and some between
  const auto mapping = take(take(source_from_path(cache.path))->map(false));
  const uint8_t* base = mapping->bytes().data();
  for (size_t i = 0; i < model->weights.size(); i += 3) {
    const auto bytes = same.weight(*mapping, i);
    weights.push_back(static_cast<size_t>(bytes.data() - base));
    weights.push_back(static_cast<size_t>(bytes.data() - base) + bytes.size() - 1);
  }
  const auto flip = [&](size_t at) {
    auto bytes = whole;
    bytes[at] ^= 0x10;
    cache.write(bytes);
  };
  for (const size_t at : head) {
    CAPTURE(at);
    flip(at);
    CHECK(take(same.open(nullptr)) == nullptr);
  }
  for (const size_t at : weights) {
    CAPTURE(at);
    flip(at);
    CHECK(take(same.open(nullptr)) == nullptr);
  }
  cache.write(whole);
  CHECK(take(same.open(nullptr)) != nullptr);
  flip(head[1]);
  cache.check_renewed("the file is not this model's packed weights");
  flip(weights.back());
  cache.check_renewed("are not those that were written");
  CHECK(cache.bytes() == whole);
}

TEST_CASE("packed cache: a foreign file or a folder in its place is no harm") {
  const Cache cache;
  const auto whole = cache.bytes();
  cache.write(std::vector<uint8_t>(whole.size(), 'x'));
  cache.check_renewed("the file is not this model's packed weights");

  // of another model under this name
  const ModelPtr other = load(other_model_path(), cache.options());
  const PackedCache of_other(*other->host, *other->backend, other->def.program, other->hash,
                             cache.dir.path());
  cache.write(read_file(of_other.path()));
  std::filesystem::remove(of_other.path());
  cache.check_renewed("bytes");

  std::filesystem::remove(cache.path);
  std::filesystem::create_directory(cache.path);
  Log log;
  const ModelPtr model = load(model_path(), cache.options(), log);
  CHECK(logits_of(*model) == cache.logits);
  REQUIRE(log.warnings().size() == 2);  // it can neither be read nor replaced
  CHECK(log.warnings()[0].find("directory") != std::string::npos);
  CHECK(log.warnings()[1].find("are not kept") != std::string::npos);
  CHECK(files_in(cache.dir.path()).size() == 1);
}

TEST_CASE("packed cache: loads at the same time all work, and leave one good file") {
  const Cache cache;
  std::filesystem::remove(cache.path);
  std::atomic<int> n_good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Log log;
      auto model = try_load(model_path(), cache.options(), log);
      if (model.ok() && log.warnings().empty() && !(*model)->raw_weights) ++n_good;
    });
  for (auto& thread : threads) thread.join();
  CHECK(n_good == 4);
  cache.check_used();
}

TEST_CASE("packed cache: while another one writes it, a load packs for itself") {
  const Cache cache;
  const auto whole = cache.bytes();
  std::filesystem::remove(cache.path);
  {
    platform::NewFile writer;
    REQUIRE(writer.create(cache.path, 1).ok());
    Log log;
    const ModelPtr model = load(model_path(), cache.options(), log);
    CHECK(log.warnings().empty());
    CHECK(!std::filesystem::exists(cache.path));
  }
  load(model_path(), cache.options());
  CHECK(cache.bytes() == whole);
}

TEST_CASE("packed cache: a folder that is not there, or takes nothing, costs one warning") {
  const Cache cache;
  for (const std::string& folder : {cache.dir.path() + "/none", std::string("/sys")}) {
    CAPTURE(folder);
    Log log;
    const ModelPtr model = load(model_path(), on_cpu(LoadMode::automatic, folder), log);
    CHECK(logits_of(*model) == cache.logits);
    REQUIRE(log.warnings().size() == 1);
    CHECK(log.warnings()[0].find(folder) == 0);
    CHECK(log.warnings()[0].find("the packed weights are not kept: creating it failed") !=
          std::string::npos);
  }
}

TEST_CASE("packed cache: no room for the file costs one warning and leaves nothing behind") {
  const Cache cache;
  std::filesystem::remove(cache.path);
  rlimit before, small;
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  small = before;
  small.rlim_cur = 100'000;
  Log log;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  auto model = try_load(model_path(), cache.options(), log);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  REQUIRE(model.ok());
  CHECK(logits_of(**model) == cache.logits);
  REQUIRE(log.warnings().size() == 1);
  CHECK(log.warnings()[0].find("a file may have 100000 here") != std::string::npos);
  CHECK(files_in(cache.dir.path()).empty());
  load(model_path(), cache.options());
  cache.check_used();
}

TEST_CASE("packed cache: a cancelled load ends, whether it reads the file or writes it") {
  const Cache cache;
  const ModelPtr model = load(model_path(), on_cpu());
  const PackedCache same(*model->host, *model->backend, model->def.program, model->hash,
                         cache.dir.path());
  JobProgress progress;
  progress.cancel.store(true);
  CHECK(same.open(&progress).status().code() == Code::cancelled);
  std::filesystem::remove(cache.path);
  std::vector<std::span<const uint8_t>> packed;
  for (const WeightId id : model->weights) packed.push_back(model->backend->packed_data(id));
  CHECK(same.write(packed, &progress).code() == Code::cancelled);
  CHECK(files_in(cache.dir.path()).empty());
  Log log;
  CHECK(try_load(model_path(), cache.options(), log, &progress).status().code() == Code::cancelled);
}

TEST_CASE("packed cache: a load without time is a model without a file, and a warning") {
  const Cache cache;
  const auto whole = cache.bytes();
  JobProgress progress;
  progress.no_time.store(true);
  {
    Log log;  // what is there is read all the same
    const ModelPtr model = take(try_load(model_path(), cache.options(), log, &progress));
    CHECK(log.warnings().empty());
    CHECK(model->mapped_bytes == model->weight_bytes);
  }
  std::filesystem::remove(cache.path);
  Log log;
  const ModelPtr model = take(try_load(model_path(), cache.options(), log, &progress));
  CHECK(logits_of(*model) == cache.logits);
  CHECK(model->mapped_bytes == 0);
  CHECK(std::string(progress.stage.load()) == "cache");
  REQUIRE(log.warnings().size() == 1);
  CHECK(log.warnings()[0] == cache.path + ": the packed weights are not kept: no time left");
  CHECK(files_in(cache.dir.path()).empty());

  // A host that gives up is heard all the same.
  progress.cancel.store(true);
  const PackedCache same(*model->host, *model->backend, model->def.program, model->hash,
                         cache.dir.path());
  std::vector<std::span<const uint8_t>> packed;
  for (const WeightId id : model->weights) packed.push_back(model->backend->packed_data(id));
  CHECK(same.write(packed, &progress).code() == Code::cancelled);
  progress.cancel.store(false);
  progress.no_time.store(false);
  CHECK(same.write(packed, &progress).ok());
  CHECK(cache.bytes() == whole);
}

TEST_CASE("packed cache: a FIFO in the way of the file is told, not taken for another writer") {
  const Cache cache;
  std::filesystem::remove(cache.path);
  REQUIRE(::mkfifo((cache.path + ".tmp").c_str(), 0600) == 0);
  Log log;
  const ModelPtr model = load(model_path(), cache.options(), log);
  CHECK(logits_of(*model) == cache.logits);
  REQUIRE(log.warnings().size() == 1);
  CHECK(log.warnings()[0].find(".tmp is no regular file") != std::string::npos);
}

TEST_CASE("packed cache: a device that keeps weights of its own takes no notice of the folder") {
  const ScratchDir dir;
  ModelOptions options = on_cpu(LoadMode::automatic, dir.path());
  options.devices = "reference";
  Log log;
  const ModelPtr model = load(model_path(), options, log);
  CHECK(model->mapped_bytes == 0);
  CHECK(log.warnings().empty());
  CHECK(files_in(dir.path()).empty());
}
