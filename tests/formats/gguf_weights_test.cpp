#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_gguf.h"

using namespace llmrt;

namespace {

std::unique_ptr<WeightSource> open_bytes(const test::Bytes& bytes,
                                         std::string_view overrides = "") {
  return open_gguf(test::source_of(bytes), {}, overrides).value();
}

std::string hash_of(const test::Bytes& bytes, std::string_view overrides = "") {
  return open_bytes(bytes, overrides)->hash().value();
}

// Remembers how many bytes were read.
struct MeteredFile {
  test::Bytes bytes;
  int64_t n_read = 0;
  int64_t fails_from = INT64_MAX;
  static int64_t read(void* user, int64_t offset, void* dst, int64_t n) {
    auto& self = *static_cast<MeteredFile*>(user);
    if (offset + n > self.fails_from) return -5;
    self.n_read += n;
    std::memcpy(dst, self.bytes.data() + offset, static_cast<size_t>(n));
    return n;
  }
  ByteSourcePtr source() {
    return source_from_callbacks(bytes.size(), read, nullptr, this).value();
  }
};

}  // namespace

TEST_CASE("weights: tensors are found by name and read in pieces") {
  const auto w = open_bytes(test::tiny_writer().bytes());
  CHECK(w->name() == "<memory>");
  CHECK(w->find("none") == nullptr);
  const TensorInfo* t = w->find("c.weight");
  REQUIRE(t != nullptr);
  float out[2] = {};
  REQUIRE(w->read(*t, 4 * 5, out, 8).ok());
  CHECK(out[0] == test::ramp(16)[5]);
  CHECK(out[1] == test::ramp(16)[6]);
  CHECK(w->read(*t, 64, out, 0).ok());
  CHECK(w->read(*t, 60, out, 8).message() ==
        "<memory>: tensor \"c.weight\" has 64 bytes, 8 at offset 60 were asked for");
  CHECK(w->read(*t, UINT64_MAX, out, 8).code() == Code::io);
  w->drop_behind(*t, 0, 64);
}

TEST_CASE("weights: a mapped file gives the same bytes, and memory goes on as it was") {
  test::ScratchDir dir;
  const test::Bytes bytes = test::tiny_writer().bytes();
  const std::string path =
      dir.write("mapped.gguf", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (const ByteSourcePtr& source : {source_from_path(path).value(), test::source_of(bytes)}) {
    const auto w = open_gguf(source, {}, "").value();
    std::vector<uint8_t> read, mapped, again;
    const auto all_bytes = [&](std::vector<uint8_t>& into) {
      for (const TensorInfo& t : w->tensors()) {
        std::vector<uint8_t> one(t.bytes);
        CHECK(w->read(t, 0, one.data(), one.size()).ok());
        w->drop_behind(t, 0, t.bytes);
        into.insert(into.end(), one.begin(), one.end());
      }
    };
    all_bytes(read);
    const auto is_mapped = [] {
      std::ifstream maps("/proc/self/maps");
      const std::string text{std::istreambuf_iterator<char>(maps), {}};
      return text.find("mapped.gguf") != std::string::npos;
    };
    const bool from_file = source->path() == path;
    CHECK(!is_mapped());
    REQUIRE(w->map(true).ok());
    CHECK(is_mapped() == from_file);
    all_bytes(mapped);
    w->unmap();
    CHECK(!is_mapped());
    all_bytes(again);
    CHECK(!read.empty());
    CHECK(read == mapped);
    CHECK(read == again);
  }
}

TEST_CASE("weights: a failing read names tensor and offset") {
  MeteredFile file{test::tiny_writer().bytes()};
  const auto w = open_gguf(file.source(), {}, "").value();
  const TensorInfo* t = w->find("b.weight");
  file.fails_from = static_cast<int64_t>(t->file_offset);
  float out[4];
  const Status status = w->read(*t, 8, out, 16);
  CHECK(status.code() == Code::io);
  CHECK(std::string(status.message())
            .starts_with(
                "tensor \"b.weight\", offset 8: <callbacks>: the read callback answered -5"));
  CHECK(status.detail()->where == "b.weight");
  CHECK(w->hash().status().code() == Code::io);
}

TEST_CASE("weights: a tensor of unknown type is an error for whoever needs it") {
  const uint64_t dims[] = {256};
  const auto w = open_bytes(test::tiny_writer()
                                .add_tensor("q", 24, dims, test::Bytes(256))
                                .add_tensor("z", 77, dims, test::Bytes(8))
                                .bytes());
  uint8_t byte;
  CHECK(w->read(*w->find("q"), 0, &byte, 1).message() ==
        "<memory>: tensor \"q\" has type I8 (24), which this build cannot decode");
  CHECK(w->read(*w->find("z"), 0, &byte, 1).message() ==
        "<memory>: tensor \"z\" has type unknown (77), which this build cannot decode");
  CHECK(w->read(*w->find("a.weight"), 0, &byte, 1).ok());
  CHECK(w->hash().ok());
}

TEST_CASE("weights: overrides change the metadata, and a bad one is refused") {
  const auto w = open_bytes(test::tiny_writer().bytes(), R"({"llama.block_count": 4, "new": "x"})");
  CHECK(*w->metadata().get_int("llama.block_count").value() == 4);
  CHECK(*w->metadata().get_string("new").value() == "x");
  auto bad = open_gguf(test::source_of(test::tiny_writer().bytes()), {}, "{");
  CHECK(bad.status().code() == Code::invalid_argument);
}

TEST_CASE("hash: equal for equal files, another one for each change") {
  const test::Bytes bytes = test::tiny_writer().bytes();
  const std::string base = hash_of(bytes);
  CHECK(base.size() == 32);
  CHECK(base == hash_of(bytes));
  std::set<std::string> seen = {base};
  CHECK(seen.insert(hash_of(bytes, R"({"llama.block_count": 3})")).second);
  CHECK(seen.insert(hash_of(bytes, R"({"x": 3})")).second);
  CHECK(seen.insert(hash_of(bytes, R"({"x": "3"})")).second);
  test::Bytes longer = bytes;
  longer.resize(longer.size() + 1);
  CHECK(seen.insert(hash_of(longer)).second);
  test::Bytes renamed = bytes;
  renamed[test::offset_of(renamed, "b.weight")] = 'd';
  CHECK(seen.insert(hash_of(renamed)).second);
  test::Bytes changed = bytes;
  changed[changed.size() - 30] ^= 1;
  CHECK(seen.insert(hash_of(changed)).second);
  CHECK(seen.insert(hash_of(test::tiny_writer().add_bool("y", true).bytes())).second);
}

TEST_CASE("hash: reads the two ends of each tensor only") {
  const uint64_t dims[] = {1 << 18};
  test::GgufWriter w;
  w.add_string("general.architecture", "llama");
  w.add_tensor_f32("big", dims, std::vector<float>(dims[0]))
      .add_tensor_f32("big2", dims, std::vector<float>(dims[0]));
  MeteredFile file{w.bytes()};
  const auto weights = open_gguf(file.source(), {}, "").value();
  file.n_read = 0;
  const std::string base = weights->hash().value();
  CHECK(file.n_read == 4 * 4096);
  const uint64_t at = weights->find("big")->file_offset;
  file.bytes[at + 4096] ^= 1;  // the middle does not count
  CHECK(weights->hash().value() == base);
  file.bytes[at + 4095] ^= 1;
  CHECK(weights->hash().value() != base);
  file.bytes[at + 4095] ^= 1;
  file.bytes[at + (1 << 20) - 4096] ^= 1;
  CHECK(weights->hash().value() != base);
}

TEST_CASE("weights: a vocabulary of 262144 tokens opens quickly") {
  std::vector<std::string> tokens;
  for (int i = 0; i < 262144; ++i) tokens.push_back("token" + std::to_string(i));
  test::GgufWriter w;
  w.add_strings("tokenizer.ggml.tokens", tokens)
      .add_f32s("tokenizer.ggml.scores", std::vector<float>(tokens.size()));
  w.add_i32s("tokenizer.ggml.token_type", std::vector<int32_t>(tokens.size(), 1));
  const auto source = test::source_of(w.bytes());
  const auto begin = std::chrono::steady_clock::now();
  const auto weights = open_gguf(source, {}, "").value();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  MESSAGE("opened in " << took.count() * 1e3 << " ms");
  CHECK(took.count() < 2.0);  // 20 times its time on a busy machine under sanitizers
  CHECK((*weights->metadata().get_strings("tokenizer.ggml.tokens").value())[262143] ==
        "token262143");
}

TEST_CASE("weights: golden files open, and their tensors lie where the next ones begin") {
  LLMRT_NEEDS_TEST_DATA();
  for (const char* name : {"gguf_quant/llama_gqa.Q4_K_M.gguf", "gguf_quant/llama_gqa.IQ3_S.gguf",
                           "models/llama_mha/llama_mha.f16.gguf"}) {
    CAPTURE(name);
    const std::string path = test::shared_data() + "/golden/" + name;
    const auto w = open_gguf(source_from_path(path).value(), {}, "").value();
    CHECK(*w->metadata().get_string("general.architecture").value() == "llama");
    CHECK(w->tensors().size() > 10);
    CHECK(w->find("token_embd.weight") != nullptr);
    uint64_t end = 0;
    for (const TensorInfo& t : w->tensors()) {
      if (end != 0) CHECK(t.file_offset == (end + 31) / 32 * 32);
      end = t.bytes > 0 ? t.file_offset + t.bytes : 0;
    }
  }
}
