#include "formats/gguf_writer.h"

#include <string>

#include "tests/support/scratch_dir.h"
#include "tests/support/test_data.h"
#include "tests/support/tiny_gguf.h"

using namespace llmrt;

TEST_CASE("gguf writer: what is written is what is read") {
  const auto bytes = test::tiny_writer().bytes();
  const GgufFile file = parse_gguf(*test::source_of(bytes)).value();
  CHECK(file.version == 3);
  CHECK(file.metadata.size() == 9);
  CHECK(*file.metadata.get_string("general.architecture").value() == "llama");
  CHECK(*file.metadata.get_int("x.i32").value() == -7);
  CHECK(*file.metadata.get_int("x.u64").value() == int64_t{1} << 40);
  CHECK(*file.metadata.get_bool("tokenizer.ggml.add_bos_token").value());
  CHECK((*file.metadata.get_strings("tokenizer.ggml.tokens").value())[2] == "h\xc3\xa9");
  CHECK(*file.metadata.get_ints("tokenizer.ggml.token_type").value() ==
        std::vector<int64_t>{1, -2, 3, 4});
  CHECK(file.metadata.get_floats("tokenizer.ggml.scores").value()->at(1) == -1.0);
  REQUIRE(file.tensors.size() == 3);
  CHECK(file.tensors[0].dims == std::array<uint64_t, 4>{4, 3, 1, 1});
  CHECK(file.tensors[0].bytes == 48);
  CHECK(file.tensors[1].file_offset == file.data_offset + 64);
  CHECK(file.tensors[2].n_dims == 4);
}

TEST_CASE("gguf writer: another alignment is written into the file and kept") {
  const uint64_t dims[] = {3};
  GgufWriter w(256);
  w.add_string("general.architecture", "llama")
      .add_tensor_f32("a", dims, test::ramp(3))
      .add_tensor_f32("b", dims, test::ramp(3));
  const GgufFile file = parse_gguf(*test::source_of(w.bytes())).value();
  CHECK(*file.metadata.get_int("general.alignment").value() == 256);
  CHECK(file.data_offset % 256 == 0);
  CHECK(file.tensors[1].file_offset == file.data_offset + 256);
}

TEST_CASE("gguf writer: a file on disk holds the same bytes") {
  test::ScratchDir dir;
  const std::string path = dir.path() + "/tiny.gguf";
  REQUIRE(test::tiny_writer().write(path).ok());
  CHECK(test::read_file(path) == test::tiny_writer().bytes());
  CHECK(test::tiny_writer().write(dir.path() + "/none/tiny.gguf").code() == Code::io);
}
