// The parser against sound files, and against one fault at a time: each fault gives one sentence that names the thing.
#include "formats/gguf.h"

#include <cstring>
#include <string>

#include "tests/support/test_data.h"
#include "tests/support/tiny_gguf.h"

using namespace llmrt;
using test::Bytes;

namespace {

struct Refusal {
  Code code = Code::ok;
  std::string text;  // without "<memory>: "
};

Refusal refusal(const Bytes& bytes) {
  auto file = parse_gguf(*test::source_of(bytes));
  if (file.ok()) return {};
  std::string text(file.status().message());
  if (text.starts_with("<memory>: ")) text.erase(0, 10);
  CHECK(text.size() <= 300);
  return {file.status().code(), text};
}

template <class... T>
Bytes pack(T... values) {
  Bytes out;
  const auto put = [&](auto v) {
    const auto* p = reinterpret_cast<const uint8_t*>(&v);
    out.insert(out.end(), p, p + sizeof v);
  };
  (put(values), ...);
  return out;
}

// A sound file with one more key of the given raw value.
Bytes with_value(uint32_t type, const Bytes& value, std::string_view key = "x.a") {
  return test::tiny_writer().add_raw(key, type, value).bytes();
}

constexpr uint64_t kRow8[] = {8};
constexpr auto kNumber = static_cast<uint32_t>(DType::f32);

// A sound file with one more tensor whose table entry (after the name) is `entry`.
Bytes with_tensor_entry(const Bytes& entry, std::string_view name = "extra.weight") {
  const uint64_t dims[] = {0x1111111111111111, 0x2222222222222222};
  Bytes bytes = test::tiny_writer().add_tensor(name, 0x33333333, dims, {}).bytes();
  const size_t at = test::offset_of(bytes, name) + name.size();
  const size_t old_size = 4 + 16 + 4 + 8;
  bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at),
              bytes.begin() + static_cast<std::ptrdiff_t>(at + old_size));
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), entry.begin(), entry.end());
  return bytes;
}

}  // namespace

TEST_CASE("gguf: keys and tensors of a sound file are read") {
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

TEST_CASE("gguf: another alignment in the file is kept") {
  const uint64_t dims[] = {3};
  test::GgufWriter w(256);
  w.add_string("general.architecture", "llama")
      .add_tensor_f32("a", dims, test::ramp(3))
      .add_tensor_f32("b", dims, test::ramp(3));
  const GgufFile file = parse_gguf(*test::source_of(w.bytes())).value();
  CHECK(*file.metadata.get_int("general.alignment").value() == 256);
  CHECK(file.data_offset % 256 == 0);
  CHECK(file.tensors[1].file_offset == file.data_offset + 256);
}

TEST_CASE("gguf: every value type is read") {
  test::GgufWriter w;
  const auto add = [&](GgufType type, const Bytes& value) {
    w.add_raw(kGgufTypes[static_cast<uint32_t>(type)].name, static_cast<uint32_t>(type), value);
  };
  add(GgufType::u8, pack(uint8_t{200}));
  add(GgufType::i8, pack(int8_t{-3}));
  add(GgufType::u16, pack(uint16_t{60000}));
  add(GgufType::i16, pack(int16_t{-300}));
  add(GgufType::u32, pack(uint32_t{4000000000u}));
  add(GgufType::i32, pack(int32_t{-70000}));
  add(GgufType::f32, pack(1.5f));
  add(GgufType::boolean, pack(uint8_t{1}));
  add(GgufType::u64, pack(uint64_t{1} << 60));
  add(GgufType::i64, pack(-(int64_t{1} << 60)));
  add(GgufType::f64, pack(2.25));
  w.add_raw("bools", 9, pack(uint32_t{7}, uint64_t{3}, uint8_t{1}, uint8_t{0}, uint8_t{1}));
  w.add_raw("i16s", 9, pack(uint32_t{3}, uint64_t{2}, int16_t{-1}, int16_t{5}));
  const GgufFile file = parse_gguf(*test::source_of(w.bytes())).value();
  const Metadata& m = file.metadata;
  CHECK(*m.get_int("u8").value() == 200);
  CHECK(*m.get_int("i8").value() == -3);
  CHECK(*m.get_int("u16").value() == 60000);
  CHECK(*m.get_int("i16").value() == -300);
  CHECK(*m.get_int("u32").value() == 4000000000);
  CHECK(*m.get_int("i32").value() == -70000);
  CHECK(*m.get_float("f32").value() == 1.5);
  CHECK(*m.get_bool("bool").value());
  CHECK(*m.get_int("u64").value() == int64_t{1} << 60);
  CHECK(*m.get_int("i64").value() == -(int64_t{1} << 60));
  CHECK(*m.get_float("f64").value() == 2.25);
  CHECK(std::get<std::vector<bool>>(m.find("bools")->v) == std::vector<bool>{true, false, true});
  CHECK(*m.get_ints("i16s").value() == std::vector<int64_t>{-1, 5});
  for (size_t i = 0; i < 11; ++i) CHECK(m.key_at(i) == m.value_at(i).type_name);
}

TEST_CASE("gguf: version 2 reads like version 3, others are refused") {
  Bytes bytes = test::tiny_writer().bytes();
  test::put_at(bytes, 4, uint32_t{2});
  CHECK(parse_gguf(*test::source_of(bytes)).value().version == 2);
  for (uint32_t version : {0u, 1u, 4u, 0xffffffffu}) {
    test::put_at(bytes, 4, version);
    CHECK(refusal(bytes).code == Code::unsupported);
    CHECK(refusal(bytes).text ==
          "GGUF version " + std::to_string(version) + ", versions 2 and 3 are supported");
  }
}

TEST_CASE("gguf: a big-endian file is told so") {
  Bytes bytes = test::tiny_writer().bytes();
  test::put_at(bytes, 4, uint32_t{0x03000000});
  CHECK(refusal(bytes).code == Code::unsupported);
  CHECK(refusal(bytes).text ==
        "this is a big-endian GGUF file (version 3), only little-endian ones are supported");
}

TEST_CASE("gguf: a file cut at any byte is refused") {
  const Bytes whole = test::tiny_writer().bytes();
  const uint64_t last = parse_gguf(*test::source_of(whole)).value().tensors[2].file_offset + 64;
  for (size_t n = 1; n < last; ++n) {
    CAPTURE(n);
    const Refusal r = refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    REQUIRE(r.code == Code::format);
    REQUIRE(!r.text.empty());
  }
  CHECK(refusal(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(last))).code ==
        Code::ok);
  CHECK(refusal(Bytes(whole.begin(), whole.begin() + 40)).text.find("metadata key") !=
        std::string::npos);
}

TEST_CASE("gguf: counts that the file cannot hold are refused before anything is read") {
  for (uint64_t n : {uint64_t{1000000}, uint64_t{1} << 60, UINT64_MAX}) {
    Bytes bytes = test::tiny_writer().bytes();
    test::put_at(bytes, 8, n);
    CHECK(refusal(bytes).text.starts_with("the header counts " + std::to_string(n) + " tensors"));
    bytes = test::tiny_writer().bytes();
    test::put_at(bytes, 16, n);
    CHECK(refusal(bytes).text.starts_with("the header counts " + std::to_string(n) +
                                          " metadata keys"));
  }
}

TEST_CASE("gguf: names") {
  CHECK(refusal(with_value(4, pack(uint32_t{7}), "")).text ==
        "metadata key 9 has a name of length 0");
  CHECK(refusal(test::tiny_writer().add_tensor("", kNumber, kRow8, Bytes(32)).bytes()).text ==
        "tensor 3 has a name of length 0");
  CHECK(refusal(with_value(4, pack(uint32_t{7}), std::string(65536, 'k'))).text ==
        "the name of metadata key 9 has 65536 bytes, 65535 are allowed here");
  Bytes bytes = test::tiny_writer().bytes();
  test::put_at(bytes, 24, UINT64_MAX);
  CHECK(
      refusal(bytes).text.starts_with("the name of metadata key 0 has 18446744073709551615 bytes"));
  CHECK(refusal(with_value(4, pack(uint32_t{7}), "x.i32")).text ==
        "metadata key \"x.i32\" is there twice");
  CHECK(
      refusal(test::tiny_writer().add_tensor("b.weight", kNumber, kRow8, Bytes(32)).bytes()).text ==
      "tensor \"b.weight\" is there twice");
  CHECK(refusal(with_value(99, {}, std::string("\x01\xff\"", 3)))
            .text.starts_with("metadata key \"\\x01\\xff\\\"\" has value type 99"));
}

TEST_CASE("gguf: value types and array elements") {
  CHECK(refusal(with_value(13, pack(uint64_t{0}))).text ==
        "metadata key \"x.a\" has value type 13, types 0 to 12 are defined");
  CHECK(refusal(with_value(9, pack(uint32_t{99}, uint64_t{1} << 60))).text ==
        "metadata key \"x.a\" is an array of element type 99, types 0 to 12 are defined");
  CHECK(
      refusal(with_value(9, pack(uint32_t{9}, uint64_t{1} << 40, uint32_t{0}, uint64_t{0}))).text ==
      "metadata key \"x.a\" is an array of element type 9, an array of arrays is not allowed");
  CHECK(refusal(with_value(7, pack(uint8_t{200}))).text ==
        "metadata key \"x.a\" is a bool of value 200, 0 and 1 are allowed");
  CHECK(refusal(with_value(9, pack(uint32_t{7}, uint64_t{1}, uint8_t{2})))
            .text.find("is a bool of value 2") != std::string::npos);
  for (uint64_t n : {uint64_t{1} << 30, uint64_t{1} << 61, UINT64_MAX}) {
    for (uint32_t type : {0u, 4u, 8u, 10u}) {
      const std::string text = refusal(with_value(9, pack(type, n))).text;
      CHECK(text.starts_with("metadata key \"x.a\" is an array of " + std::to_string(n)));
    }
    CHECK(refusal(with_value(8, pack(n)))
              .text.starts_with("metadata key \"x.a\" is a string of " + std::to_string(n) +
                                " bytes"));
    CHECK(refusal(with_value(9, pack(uint32_t{8}, uint64_t{2}, uint64_t{0}, n)))
              .text.starts_with("metadata key \"x.a\": string 1 has " + std::to_string(n)));
  }
}

TEST_CASE("gguf: general.alignment is a power of two in u32, within reason") {
  const auto aligned = [](uint32_t type, const Bytes& value) {
    return refusal(with_value(type, value, "general.alignment"));
  };
  for (uint32_t bad : {0u, 7u, 0x80000000u, 0xffffffffu, 2u << 20}) {
    const Refusal r = aligned(4, pack(bad));
    CHECK(r.code == Code::format);
    CHECK(r.text == "metadata key \"general.alignment\" is " + std::to_string(bad) +
                        ", a power of two up to 1048576 is needed");
  }
  CHECK(aligned(5, pack(int32_t{-32})).text ==
        "metadata key \"general.alignment\" has type i32, wanted is u32");
  CHECK(aligned(10, pack(uint64_t{1} << 40)).text ==
        "metadata key \"general.alignment\" has type u64, wanted is u32");
  CHECK(aligned(8, pack(uint64_t{2}, '3', '2')).text ==
        "metadata key \"general.alignment\" has type str, wanted is u32");
  CHECK(aligned(4, pack(uint32_t{32})).code == Code::ok);
}

TEST_CASE("gguf: dimensions") {
  for (uint32_t n : {5u, 9u, 1000000u, 0xffffffffu}) {
    CHECK(refusal(with_tensor_entry(pack(n, uint64_t{1}, uint64_t{1}))).text ==
          "tensor \"extra.weight\" has " + std::to_string(n) +
              " dimensions, at most 4 are allowed");
  }
  const auto shaped = [](uint64_t d0, uint64_t d1, uint32_t type) {
    return refusal(with_tensor_entry(pack(uint32_t{2}, d0, d1, type, uint64_t{0}))).text;
  };
  CHECK(shaped(4, 0, 0) == "dimension 1 of tensor \"extra.weight\" is 0, at least 1 is needed");
  CHECK(shaped(uint64_t{1} << 40, uint64_t{1} << 40, 0) ==
        "tensor \"extra.weight\" has more than 2^63 - 1 elements");
  CHECK(shaped(UINT64_MAX, 1, 0) == "tensor \"extra.weight\" has more than 2^63 - 1 elements");
  CHECK(shaped(uint64_t{1} << 62, 1, 0) ==
        "tensor \"extra.weight\" takes more than 2^63 - 1 bytes");
  CHECK(shaped(33, 1, 8) ==
        "tensor \"extra.weight\" has rows of 33 elements, type Q8_0 needs a multiple of 32");
  CHECK(shaped(32, 8, 12) ==
        "tensor \"extra.weight\" has rows of 32 elements, type Q4_K needs a multiple of 256");
}

TEST_CASE("gguf: a tensor without dimensions is one value") {
  const GgufFile file =
      parse_gguf(
          *test::source_of(test::GgufWriter().add_tensor("s", kNumber, {}, Bytes(4)).bytes()))
          .value();
  CHECK(file.tensors[0].n_dims == 0);
  CHECK(file.tensors[0].bytes == 4);
}

TEST_CASE("gguf: tensors of unknown type are kept with no size") {
  for (uint32_t type : {24u, 26u, 4u, 1000u}) {
    const auto file = parse_gguf(
        *test::source_of(test::tiny_writer().add_tensor("odd", type, kRow8, Bytes(64)).bytes()));
    REQUIRE(file.ok());
    CHECK(file.value().tensors[3].ggml_type == type);
    CHECK(file.value().tensors[3].bytes == 0);
  }
}

TEST_CASE("gguf: data outside the file, unaligned or shared is refused by name") {
  const auto at = [](uint64_t offset) {
    Bytes bytes = test::tiny_writer().add_tensor("extra.weight", kNumber, kRow8, {}).bytes();
    test::put_at(bytes, test::offset_of(bytes, "extra.weight") + 12 + 4 + 8 + 4,
                 offset);  // after name, n_dims, dim, type
    return refusal(bytes).text;
  };
  CHECK(at(1) ==
        "the data of tensor \"extra.weight\" is at offset 1, a multiple of general.alignment 32 is "
        "needed");
  for (uint64_t offset : {uint64_t{1} << 30, uint64_t{0} - 32, uint64_t{1} << 63, uint64_t{192}})
    CHECK(at(offset).starts_with("tensor \"extra.weight\" has 32 bytes at offset " +
                                 std::to_string(offset) + " of the data"));
  CHECK(at(0) == "the data of tensors \"a.weight\" and \"extra.weight\" overlap");
  CHECK(at(32).find("overlap") != std::string::npos);
}

TEST_CASE("gguf: metadata alone is a sound file") {
  test::GgufWriter w;
  w.add_string("general.architecture", "llama");
  const GgufFile file = parse_gguf(*test::source_of(w.bytes())).value();
  CHECK(file.tensors.empty());
  CHECK(file.metadata.size() == 1);
}

TEST_CASE("gguf: an endless file of zeros or of tiny pieces stops at the metadata bound") {
  // Callbacks that claim 2^62 bytes: the header, then an array of 2^61 empty strings.
  struct Endless {
    Bytes head;
    static int64_t read(void* user, int64_t offset, void* dst, int64_t n) {
      const Bytes& head = static_cast<Endless*>(user)->head;
      std::memset(dst, 0, static_cast<size_t>(n));
      for (int64_t i = offset; i < offset + n && i < static_cast<int64_t>(head.size()); ++i)
        static_cast<uint8_t*>(dst)[i - offset] = head[static_cast<size_t>(i)];
      return n;
    }
  };
  const auto parse_endless = [](Endless endless) {
    auto source =
        source_from_callbacks(uint64_t{1} << 62, Endless::read, nullptr, &endless).value();
    auto file = parse_gguf(*source);
    REQUIRE(!file.ok());
    return std::string(file.status().message());
  };
  test::GgufWriter strings;
  strings.add_raw("x", 9, pack(uint32_t{8}, uint64_t{1} << 58));
  CHECK(parse_endless({strings.bytes()}) ==
        "<callbacks>: keys and tensor names take over 512 MiB, which is not a model's metadata");
  test::GgufWriter text;
  text.add_raw("x", 8, pack(uint64_t{1} << 61));
  CHECK(parse_endless({text.bytes()}).find("take over 512 MiB") != std::string::npos);
  Bytes header = test::GgufWriter().bytes();
  test::put_at(header, 16, uint64_t{1} << 50);
  CHECK(parse_endless({header}) == "<callbacks>: metadata key 0 has a name of length 0");
}
