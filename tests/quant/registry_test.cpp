#include <doctest/doctest.h>

#include <set>
#include <string>

#include "quant/dtype.h"

using namespace llmrt;

TEST_CASE("registry: numbers, names and types lead to the same row") {
  std::set<std::string> names;
  for (const QuantFormat& f : all_formats()) {
    CAPTURE(f.name);
    CHECK(find_format(static_cast<uint32_t>(f.type)) == &f);
    CHECK(&format_of(f.type) == &f);
    CHECK(gguf_type_name(static_cast<uint32_t>(f.type)) == std::string(f.name));
    CHECK(names.insert(f.name).second);
  }
  CHECK(names.size() == 28);
}

TEST_CASE("registry: geometry and numerics class agree with the rules") {
  for (const QuantFormat& f : all_formats()) {
    CAPTURE(f.name);
    CHECK((f.block == 1 || f.block % 32 == 0));
    CHECK(kSuperblock % f.block == 0);
    CHECK((f.decode != nullptr));
    if (f.numerics == NumericsClass::f32) CHECK(f.group == 0);
    if (f.numerics == NumericsClass::a8) CHECK(f.group == (f.block == 256 ? 256 : 32));
    CHECK(row_bytes(f, 4 * f.block) == uint64_t{4} * f.block_bytes);
  }
}

TEST_CASE("registry: types that GGUF defines but this build cannot decode have a name") {
  const std::pair<uint32_t, const char*> rest[] = {
      {9, "Q8_1"}, {15, "Q8_K"}, {24, "I8"}, {25, "I16"}, {26, "I32"}, {27, "I64"}, {28, "F64"}};
  for (const auto& [number, name] : rest) {
    CHECK(find_format(number) == nullptr);
    CHECK(gguf_type_name(number) == std::string(name));
  }
  CHECK(std::string(gguf_type_name(4)).empty());   // withdrawn
  CHECK(std::string(gguf_type_name(43)).empty());  // not defined
  CHECK(std::string(gguf_type_name(0xffffffffu)).empty());
}
