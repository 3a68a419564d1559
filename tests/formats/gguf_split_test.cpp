#include <filesystem>
#include <string>
#include <vector>

#include "formats/gguf.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_gguf.h"

using namespace llmrt;

namespace {

constexpr uint64_t kRow8[] = {8};

std::vector<uint8_t> u16(uint32_t value) {
  return {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8)};
}

// Part `number` of three, with one tensor named t<number>.
test::GgufWriter part(uint32_t number, uint32_t count = 3, int32_t n_tensors = 3) {
  test::GgufWriter w;
  if (number == 0) w.add_string("general.architecture", "llama");
  w.add_raw("split.no", 2, u16(number))
      .add_raw("split.count", 2, u16(count))
      .add_i32("split.tensors.count", n_tensors);
  w.add_tensor_f32(std::string("t").append(std::to_string(number)), kRow8, test::ramp(8));
  return w;
}

struct SplitDir {
  SplitDir() {
    for (uint32_t i = 0; i < 3; ++i) put(i, part(i));
  }
  static std::string name(uint32_t i) {
    return "m-0000" + std::to_string(i + 1) + "-of-00003.gguf";
  }
  std::string path(uint32_t i) const { return dir.path() + "/" + name(i); }
  // Writes file i of the folder, in place of the one there.
  void put(uint32_t i, const test::GgufWriter& content) const {
    const test::Bytes bytes = content.bytes();
    dir.write(name(i), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  std::string refusal(uint32_t opened = 0) const { return refusal_of(path(opened)); }
  std::string refusal_of(const std::string& file) const {
    auto parts = open_gguf_parts(source_from_path(file).value(), {});
    REQUIRE(!parts.ok());
    std::string text(parts.status().message());
    for (size_t at; (at = text.find(dir.path() + "/")) != std::string::npos;)
      text.erase(at, dir.path().size() + 1);
    return text;
  }
  test::ScratchDir dir;
};

ByteSourcePtr memory_part(uint32_t number, uint32_t count = 3) {
  return test::source_of(part(number, count).bytes());
}

std::string memory_refusal(ByteSourcePtr first, const std::vector<ByteSourcePtr>& rest) {
  auto parts = open_gguf_parts(std::move(first), rest);
  REQUIRE(!parts.ok());
  return std::string(parts.status().message());
}

}  // namespace

TEST_CASE("split: siblings are found by name, whichever part was given") {
  SplitDir s;
  for (uint32_t given = 0; given < 3; ++given) {
    auto weights = open_gguf(source_from_path(s.path(given)).value(), {}, "").value();
    CHECK(*weights->metadata().get_string("general.architecture").value() == "llama");
    REQUIRE(weights->tensors().size() == 3);
    for (uint32_t i = 0; i < 3; ++i) {
      CHECK(weights->tensors()[i].name == std::string("t").append(std::to_string(i)));
      CHECK(weights->tensors()[i].shard == i);
    }
    std::vector<float> values(8);
    REQUIRE(weights->read(*weights->find("t2"), 0, values.data(), 32).ok());
    CHECK(values == test::ramp(8));
  }
}

TEST_CASE("split: missing, swapped and repeated parts are named") {
  {
    SplitDir s;
    std::filesystem::remove(s.path(1));
    CHECK(s.refusal() ==
          "part 2 of 3 of the split model: m-00002-of-00003.gguf: cannot open: No such file or "
          "directory");
    CHECK(s.refusal(2).starts_with("part 2 of 3"));
  }
  {
    SplitDir s;
    s.put(1, part(2));
    s.put(2, part(1));
    CHECK(s.refusal() ==
          "m-00002-of-00003.gguf: part 2 of 3 of the split model is needed here, this file is part "
          "3 of 3");
  }
  {
    SplitDir s;
    s.put(1, part(0));
    CHECK(s.refusal() ==
          "m-00002-of-00003.gguf: part 2 of 3 of the split model is needed here, this file is part "
          "1 of 3");
  }
  {
    SplitDir s;
    s.put(1, part(1, 4));
    CHECK(s.refusal() ==
          "m-00002-of-00003.gguf: part 2 of 3 of the split model is needed here, this file is part "
          "2 of 4");
  }
}

TEST_CASE("split: a renamed part says what its name must end in") {
  SplitDir s;
  std::filesystem::rename(s.path(1), s.dir.path() + "/other.gguf");
  CHECK(s.refusal_of(s.dir.path() + "/other.gguf") ==
        "other.gguf: this is part 2 of 3 of a split model, its name must end in "
        "-00002-of-00003.gguf");
}

TEST_CASE("split: tensors must be unique over all parts and as many as announced") {
  {
    SplitDir s;
    test::GgufWriter again = part(1);
    again.add_tensor_f32("t0", kRow8, test::ramp(8));
    s.put(1, again);
    CHECK(s.refusal() == "m-00002-of-00003.gguf: tensor \"t0\" is also in m-00001-of-00003.gguf");
  }
  {
    SplitDir s;
    s.put(0, part(0, 3, 4));
    CHECK(s.refusal() ==
          "m-00001-of-00003.gguf: split.tensors.count is 4, the parts hold 3 tensors");
  }
}

TEST_CASE("split: parts without a path are given in order") {
  auto parts =
      open_gguf_parts(memory_part(0), std::vector<ByteSourcePtr>{memory_part(1), memory_part(2)});
  REQUIRE(parts.ok());
  CHECK(parts.value().size() == 3);
  CHECK(memory_refusal(memory_part(0), {}) == "<memory>: split.count is 3, given are 1 parts");
  CHECK(memory_refusal(memory_part(0), {memory_part(1)}) ==
        "<memory>: split.count is 3, given are 2 parts");
  CHECK(memory_refusal(memory_part(0), {memory_part(2), memory_part(1)}) ==
        "<memory>: part 2 of 3 of the split model is needed here, this file is part 3 of 3");
  CHECK(memory_refusal(memory_part(1), {memory_part(0), memory_part(2)}) ==
        "<memory>: part 1 of 3 of the split model is needed here, this file is part 2 of 3");
  CHECK(memory_refusal(test::source_of(test::tiny_writer().bytes()), {memory_part(1)}) ==
        "<memory>: split.count is 1, given are 2 parts");
}

TEST_CASE("split: numbers out of range are refused") {
  CHECK(
      memory_refusal(memory_part(3), {}) ==
      "<memory>: split.no is 3 and split.count 3, 0 <= split.no < split.count <= 65535 is needed");
  test::GgufWriter w;
  w.add_string("split.count", "three");
  CHECK(memory_refusal(test::source_of(w.bytes()), {}) ==
        "metadata key \"split.count\" has type str, wanted is an integer");
  test::GgufWriter negative;
  negative.add_i32("split.count", -1);
  CHECK(memory_refusal(test::source_of(negative.bytes()), {}).find("split.count -1") !=
        std::string::npos);
}
